"""The command line of the fetch."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from components.weights.pace import Patience
from components.weights.report import Style

_DESCRIPTION: Final = """\
Brings a complete copy of a model from a bucket into a folder of this node's disk: verified against the sha256 of the
bucket's marker, each file whole or not at all, only what is missing, one process a folder at a time."""
_EPILOG: Final = """\
environment: as `python -m components.weights.sync --help` lists it for the bucket, or the cloud's workload identity

exit status:
  0 the folder is complete   1 wrong bytes in the bucket, or the deadline is over   2 wrong usage
  42 a person has to act: no complete copy in the bucket, disk full, identity refused   143 ended by a signal"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked for."""

    source: str
    """URL of the model's folder in the bucket."""
    to: Path
    revision: str | None = None
    """The commit that the bucket has to hold."""
    link_gbps: float | None = None
    quota_gbps: float | None = None
    connections: int | None = None
    part_mib: int = 64
    """At 90 MB/s a request takes 0.7 s, against which the wait for its first byte is little."""
    prune: bool = False
    deadline_minutes: float = 240.0
    identity_minutes: float = 5.0
    """How long a refused identity is tried again."""
    patience: Patience = field(default_factory=Patience)
    longest_pause_seconds: float = 10.0
    style: Style = "text"
    interval: float = 5.0
    """Seconds between two lines of progress."""


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line; ends the process with 2 when it is wrong."""
    given = _parser().parse_args(arguments)
    default: Style = "bar" if sys.stderr.isatty() else "text"
    return Options(
        source=given.source,
        to=given.to,
        revision=given.revision,
        link_gbps=given.link_gbps,
        quota_gbps=given.quota_gbps,
        connections=given.connections,
        part_mib=given.part_mib,
        prune=given.prune,
        deadline_minutes=given.deadline_minutes,
        identity_minutes=given.identity_minutes,
        patience=Patience(silence_seconds=given.stall),
        style=given.progress or default,
        interval=given.interval,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m components.weights.fetch",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--from", dest="source", required=True, metavar="URL", help="s3://bucket/folder, az://, gs://,"
                        " oss://: the folder that the sync filled")  # fmt: skip
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="on the node, of this revision alone")
    parser.add_argument("--revision", metavar="COMMIT", help="refuse a bucket that holds another")
    parser.add_argument(
        "--prune", action="store_true", help="remove other revisions of the model in and beside the folder"
    )
    _add_speed(parser)
    patience = parser.add_argument_group("patience and log")
    patience.add_argument("--deadline-minutes", type=_positive, default=240.0, help="until then, faults are tried again"
                          " (240)")  # fmt: skip
    patience.add_argument("--identity-minutes", type=float, default=5.0, help="the same for a refused identity, which"
                          " may be new (5)")  # fmt: skip
    patience.add_argument("--stall", type=_positive, default=10.0, help="seconds without a byte, at most (10)")
    patience.add_argument("--progress", choices=["text", "json", "bar", "none"], help="default: bar on a terminal")
    patience.add_argument("--interval", type=_positive, default=5.0, help="seconds between progress lines (5)")
    return parser


def _add_speed(parser: argparse.ArgumentParser) -> None:
    speed = parser.add_argument_group("speed; streams are derived from it and the container's cores and memory")
    speed.add_argument("--link-gbps", type=_positive, metavar="N", help="the node's link for storage (25)")
    speed.add_argument("--quota-gbps", type=_positive, metavar="N", help="this node's share of the account's quota")
    speed.add_argument("--connections", type=_whole, metavar="N", help="streams, instead of deriving them")
    speed.add_argument("--part-mib", type=_whole, default=64, metavar="N", help="MiB of one request (64)")


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} isn't more than 0")
    return number


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
