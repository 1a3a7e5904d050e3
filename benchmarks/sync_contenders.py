"""From the hub into a bucket with verified bytes: ours, and two chains of public tools.

All have four connections to the hub; everything else is as the tool comes.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.hub_process import HubProcess, Listed
from benchmarks.measured_job import Command, Job
from benchmarks.object_server import ObjectServer
from components.weights.manifest import default_folder
from tests.weights.bucket import ACCESS_KEY, SECRET_KEY
from tests.weights.tiny_model import COMMIT, REPOSITORY
from toolchain import tool

TOOLS: Final = tool.TOOLS / "bench-venv" / "bin"
"""Where `make bench-weights` installs the public tools."""
FOLDER: Final = default_folder(REPOSITORY, COMMIT)
"""Of the model in the bucket."""
_CONNECTIONS: Final = "4"
# Buffers of 4 x 4 x 8 MiB: shards of 64 MiB have too few of the default's parts of 32 MiB to keep them busy.
_EFFORT: Final = ("--parallel", _CONNECTIONS, "--part-mib", "8", "--part-concurrency", "4")


def ours(hub: HubProcess, server: ObjectServer, bucket: str, pods: int = 1) -> Job:
    """Return our sync, in one process or shared by several at once."""
    model = ("--repository", REPOSITORY, "--revision", COMMIT, "--to", f"s3://{bucket}", "--endpoint", hub.url)
    command = (sys.executable, "-m", "components.weights.sync", *model, *_EFFORT)
    step = [(*command, "--index", str(index), "--of", str(pods)) for index in range(pods)]
    return Job(steps=[step], environment=server.environment() | {"PYTHONPATH": str(tool.PROJECT)})


def by_disk(hub: HubProcess, server: ObjectServer, bucket: str) -> Job:
    """Return Hugging Face's command line onto a disk, verified there, and AWS's from there."""
    hf = (REPOSITORY, "--revision", COMMIT, "--local-dir", "model")
    steps: Sequence[Command] = [
        (TOOLS / "hf", "download", *hf, "--max-workers", _CONNECTIONS),
        (TOOLS / "hf", "cache", "verify", *hf, "--fail-on-missing-files"),
        (
            TOOLS / "aws",
            "s3",
            "sync",
            "--only-show-errors",
            "--exclude",
            ".cache/*",
            "model",
            f"s3://{bucket}/{FOLDER}",
        ),
    ]
    # The last one keeps it from asking a package index for its own newest version.
    environment = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_UPDATE_CHECK": "1"}
    return Job(steps=[[step] for step in steps], environment=server.environment() | environment)


def by_rclone(hub: HubProcess, server: ObjectServer, sums: Path, bucket: str) -> Job:
    """Return rclone, which has no sums of the hub's files and so reads all of them back from the bucket.

    Args:
        hub: Where from.
        server: Where to.
        sums: See `write_sums`; rclone can't list a hub.
        bucket: Its name.
    """
    source = f":http,url='{hub.url}/{REPOSITORY}/resolve/{COMMIT}/':"
    target = f":s3:{bucket}/{FOLDER}"
    names = sums.with_suffix(".names")
    copy = ("copy", source, target, "--files-from", names, "--no-traverse", "--transfers", _CONNECTIONS)
    verify = ("hashsum", "sha256", "--download", "--checkfile", sums, target)
    steps: Sequence[Command] = [(TOOLS / "rclone", *copy), (TOOLS / "rclone", *verify)]
    return Job(steps=[[step] for step in steps], environment=rclone_environment(server.url))


def bare_download(hub: HubProcess, sums: Path) -> Job:
    """Return curls that throw the bytes away: nothing can copy from this hub sooner over as many connections."""
    get = f'curl -sSfL -o /dev/null "{hub.url}/{REPOSITORY}/resolve/{COMMIT}/$1"'
    many = ("xargs", "-a", sums.with_suffix(".names"), "-n", "1", "-P", _CONNECTIONS, "sh", "-c", get, "sh")
    return Job(steps=[[many]], environment={})


def rclone_environment(url: str) -> Mapping[str, str]:
    """Return what rclone needs to reach an S3 server."""
    return {
        "RCLONE_CONFIG": "/dev/null",
        "RCLONE_S3_PROVIDER": "Other",
        "RCLONE_S3_ENDPOINT": url,
        "RCLONE_S3_REGION": "us-east-1",
        "RCLONE_S3_ACCESS_KEY_ID": ACCESS_KEY,
        "RCLONE_S3_SECRET_ACCESS_KEY": SECRET_KEY,
    }


def write_sums(files: Mapping[str, Listed], path: Path) -> None:
    """Write the files' sums as sha256sum does, and their names alone beside it."""
    path.write_text("".join(f"{listed.sha256}  {name}\n" for name, listed in files.items()))
    path.with_suffix(".names").write_text("".join(f"{name}\n" for name in files))
