"""The command line of the sync: what is asked for, checked, with the environment's part of it."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from components.weights import hugging_face, model_scope
from components.weights.backoff import Timing
from components.weights.file_copy import Effort
from components.weights.manifest import Folder, default_folder, is_commit
from components.weights.report import Style
from components.weights.store_connection import Location, StoreOptions
from components.weights.store_error import StoreError

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
"""Set by Kubernetes in the pods of an Indexed Job."""
WORKERS_VARIABLE: Final = "WEIGHT_SYNC_WORKERS"
"""How many pods share the work."""

_DESCRIPTION: Final = """\
Copies a model at a pinned revision from Hugging Face, ModelScope or another bucket into a bucket, without a disk:
each file is verified while it passes, appears whole or not at all, and is skipped by the next run. Run it again after
any failure. The bucket is complete when .weight-sync/<folder>/_COMPLETE.json is there."""
_EPILOG: Final = """\
environment:
  HF_TOKEN, HF_ENDPOINT                      Hugging Face's read token, and a mirror of the hub
  MODELSCOPE_API_TOKEN, MODELSCOPE_ENDPOINT  the same for ModelScope
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, AWS_S3_PATH_STYLE
  AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_ENDPOINT, GOOGLE_APPLICATION_CREDENTIALS,
  ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET, or the cloud's workload identity
  SOURCE_AWS_ACCESS_KEY_ID and so on         for the bucket that --source names, where it differs
  JOB_COMPLETION_INDEX, WEIGHT_SYNC_WORKERS  defaults of --index and --of

exit status:
  0 this process's files are there   1 some aren't; run again   2 wrong usage
  42 running again can't help: token, revision, right, bucket, quota   143 ended by a signal

examples:
  python -m components.weights.sync --repository moonshotai/Kimi-K3 \\
    --revision 9f62e4e9fffbd0a83ddd60e1c209d828994b3569 --to s3://my-bucket
  ... --to az://container            ... --to gs://my-bucket            ... --to oss://my-bucket
  ... --source s3://other-bucket/moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569
  ... --source modelscope --source-revision master --digest <digest of a copy from Hugging Face>
"""


@dataclass(frozen=True, kw_only=True)
class Hub:
    """One of the two hubs."""

    kind: str
    """`huggingface` or `modelscope`."""
    endpoint: str
    token: str | None
    revision: str
    """On that hub."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What one process has to do."""

    repository: str
    revision: str
    """The Hugging Face commit that the bytes are."""
    to: Location
    bucket: StoreOptions
    hub: Hub
    source: Location | None
    """Another bucket, or None for the hub."""
    source_bucket: StoreOptions
    digest: str | None
    index: int
    of: int
    effort: Effort
    timing: Timing
    grace: float
    """Seconds between SIGTERM and giving up the running files."""
    read_back: bool
    style: Style
    interval: float

    @property
    def folder(self) -> Folder:
        """Where the model lies in the bucket."""
        return Folder(self.to.folder or default_folder(self.repository, self.revision))


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """Read the command line; what is wrong ends the process with status 2 and a line that says so."""
    parser = _parser(environment)
    given = parser.parse_args(arguments)
    try:
        _check(given)
        to = Location.parse(given.to)
        source = None if given.source in ("huggingface", "modelscope") else Location.parse(given.source)
    except (ValueError, StoreError) as error:
        parser.error(str(error))
    return Options(
        repository=given.repository,
        revision=given.revision,
        to=to,
        bucket=_bucket(given, environment),
        hub=_hub(given, environment),
        source=source,
        source_bucket=_source_bucket(environment),
        digest=given.digest,
        index=given.index,
        of=given.of,
        effort=Effort(
            parallel=given.parallel, part_bytes=given.part_mib << 20, part_concurrency=given.part_concurrency
        ),
        timing=Timing(stall=given.stall, first_wait=given.first_wait),
        grace=given.grace,
        read_back=given.verify == "readback",
        style=given.progress or ("bar" if sys.stderr.isatty() else "text"),
        interval=given.interval,
    )


def _check(given: argparse.Namespace) -> None:
    if not is_commit(given.revision):
        raise ValueError(f"--revision {given.revision!r} can move; give the commit, 40 hexadecimal digits")
    if not 0 <= given.index < given.of:
        raise ValueError(f"--index {given.index} --of {given.of}: the index runs from 0 to {given.of - 1}")
    if given.source == "modelscope" and given.digest is None and not is_commit(given.source_revision or ""):
        raise ValueError("ModelScope's branches move: give --digest, or a commit of its own as --source-revision")


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m components.weights.sync",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_places(parser)
    _add_effort(parser, environment)
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what and where")
    what.add_argument("--repository", required=True, metavar="ORG/MODEL")
    what.add_argument("--revision", required=True, metavar="COMMIT", help="Hugging Face's commit, 40 digits")
    what.add_argument("--to", required=True, metavar="URL", help="s3://, az://, gs:// or oss://bucket[/folder];"
                      " the folder is ORG/MODEL/COMMIT unless given")  # fmt: skip
    what.add_argument("--source", default="huggingface", help="huggingface (default), modelscope or a bucket's URL")
    what.add_argument("--source-revision", metavar="REVISION", help="on ModelScope, which has commits of its own")
    what.add_argument("--digest", metavar="SHA256", help="refuse files other than those, as a finished run prints it")
    what.add_argument("--endpoint", metavar="URL", help="the hub's address; default from the environment")
    bucket = parser.add_argument_group("the bucket; defaults from the environment")
    bucket.add_argument("--bucket-endpoint", metavar="URL", help="of an S3-compatible store, an emulator")
    bucket.add_argument("--bucket-region", metavar="REGION")
    bucket.add_argument("--path-style", action=argparse.BooleanOptionalAction, help="endpoint/bucket/key addresses")
    bucket.add_argument("--checksum", action=argparse.BooleanOptionalAction, help="CRC64NVME; default: on AWS only")


def _add_effort(parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
    share = parser.add_argument_group("how much")
    share.add_argument("--index", type=int, default=int(environment.get(INDEX_VARIABLE) or 0), help="this process")
    share.add_argument("--of", type=_positive, default=int(environment.get(WORKERS_VARIABLE) or 1), help="processes")
    share.add_argument("--parallel", type=_positive, default=4, help="files at once (4)")
    share.add_argument("--part-mib", type=_positive, default=32, help="MiB of an upload's part (32)")
    share.add_argument("--part-concurrency", type=_positive, default=2, help="parts of a file at once (2)")
    share.add_argument("--verify", choices=["stream", "readback"], default="stream", help="readback: also read every"
                       " object from the bucket again")  # fmt: skip
    log = parser.add_argument_group("log and patience, in seconds")
    log.add_argument("--progress", choices=["text", "json", "bar", "none"], help="default: bar on a terminal, or text")
    log.add_argument("--interval", type=float, default=5.0, help="between progress lines (5)")
    log.add_argument("--stall", type=float, default=Timing.stall, help="without a byte from the hub (30)")
    log.add_argument("--first-wait", type=float, default=Timing.first_wait, help="after a failure; doubles (0.5)")
    log.add_argument(
        "--bucket-retry", type=float, default=240.0, help="of one request to the bucket, at most 300 (240)"
    )
    log.add_argument("--grace", type=float, default=25.0, help="for running files after SIGTERM (25)")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _bucket(given: argparse.Namespace, environment: Mapping[str, str]) -> StoreOptions:
    found = StoreOptions.from_environment(environment)
    return replace(
        found,
        endpoint=given.bucket_endpoint or found.endpoint,
        region=given.bucket_region or found.region,
        path_style=found.path_style if given.path_style is None else given.path_style,
        checksum=given.checksum,
        retry_seconds=given.bucket_retry,
    )


def _source_bucket(environment: Mapping[str, str]) -> StoreOptions:
    """Return the source bucket's own settings, or the target's where it has none."""
    own = any(name.startswith(("SOURCE_AWS_", "SOURCE_AZURE_")) for name in environment)
    return replace(StoreOptions.from_environment(environment, "SOURCE_" if own else ""), stall_seconds=Timing.stall)


def _hub(given: argparse.Namespace, environment: Mapping[str, str]) -> Hub:
    if given.source == "modelscope":
        return Hub(
            kind="modelscope",
            endpoint=given.endpoint or environment.get("MODELSCOPE_ENDPOINT") or model_scope.ENDPOINT,
            token=environment.get("MODELSCOPE_API_TOKEN") or None,
            revision=given.source_revision or "master",
        )
    return Hub(
        kind="huggingface",
        endpoint=given.endpoint or environment.get("HF_ENDPOINT") or hugging_face.ENDPOINT,
        token=(environment.get("HF_TOKEN") or "").strip() or None,
        revision=given.revision,
    )
