"""From a bucket onto a disk with verified bytes: ours, and what public tools do in the same time with sha256sum.

The public tools come with their own defaults. Their bytes are hashed by all cores at once, and, as ours are, on the
disk when the time ends.
"""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.measured_job import Command, Job
from benchmarks.object_server import ObjectServer
from benchmarks.sync_contenders import FOLDER, TOOLS, rclone_environment
from tests.weights.bucket import ACCESS_KEY, SECRET_KEY
from toolchain import tool

_CURLS: Final = 8
_CORES: Final = os.cpu_count() or 1

Fetch = Callable[[ObjectServer, str, Path], Job]
"""Makes the job for a server, a bucket's name and the files' sums as sha256sum writes them."""


def ours(server: ObjectServer, bucket: str, _sums: Path) -> Job:
    """Return our fetch."""
    return fetch(f"s3://{bucket}/{FOLDER}", server.environment())


def fetch(source: str, environment: Mapping[str, str], *options: str) -> Job:
    """Return our fetch of any bucket."""
    command = (sys.executable, "-m", "components.weights.fetch", "--from", source, "--to", "model", *options)
    return Job(steps=[[command]], environment={**environment, "PYTHONPATH": str(tool.PROJECT)})


def curl(server: ObjectServer, bucket: str, sums: Path) -> Job:
    """Return one curl a file, several at once, each with its sha256sum behind it."""
    # Older curls sign without this header, which S3 wants.
    sign = f"--aws-sigv4 aws:amz:us-east-1:s3 --user {ACCESS_KEY}:{SECRET_KEY} -H x-amz-content-sha256:UNSIGNED-PAYLOAD"
    get = f'curl -sSf {sign} -o "model/$2" "{server.url}/{bucket}/{FOLDER}/$2"'
    one = f'{get} && cd model && echo "$1  $2" | sha256sum --check --quiet'
    many = f"xargs -a {shlex.quote(str(sums))} -n 2 -P {_CURLS} sh -c {shlex.quote(one)} sh"
    return Job(steps=[[("sh", "-ec", f"mkdir model && {many} && sync -f model")]], environment={})


def aws(server: ObjectServer, bucket: str, sums: Path) -> Job:
    """Return AWS's command line."""
    copy = (TOOLS / "aws", "s3", "cp", "--recursive", "--only-show-errors", f"s3://{bucket}/{FOLDER}", "model")
    return _verified(copy, sums, server.environment())


def s5cmd(server: ObjectServer, bucket: str, sums: Path) -> Job:
    """Return s5cmd."""
    copy = (TOOLS / "s5cmd", "--log", "error", "cp", f"s3://{bucket}/{FOLDER}/*", "model/")
    return _verified(copy, sums, server.environment() | {"S3_ENDPOINT_URL": server.url})


def rclone(server: ObjectServer, bucket: str, sums: Path) -> Job:
    """Return rclone, which has a sha256sum of its own."""
    steps: list[Command] = [
        (TOOLS / "rclone", "copy", f":s3:{bucket}/{FOLDER}", "model"),
        (TOOLS / "rclone", "hashsum", "sha256", "--checkfile", sums, "model"),
        ("sync", "-f", "model"),
    ]
    return Job(steps=[[step] for step in steps], environment=rclone_environment(server.url))


def _verified(copy: Command, sums: Path, environment: Mapping[str, str]) -> Job:
    check = f"xargs -a {shlex.quote(str(sums))} -n 2 -P {_CORES} sh -c 'echo \"$1  $2\" | sha256sum --check --quiet' sh"
    steps: list[Command] = [copy, ("sh", "-ec", f"cd model && {check} && sync -f .")]
    return Job(steps=[[step] for step in steps], environment=environment)


PUBLIC: Final[Mapping[str, Fetch]] = {"curl": curl, "aws": aws, "s5cmd": s5cmd, "rclone": rclone}
