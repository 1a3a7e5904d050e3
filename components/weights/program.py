"""How the weights' program reaches a pod: its own files in a ConfigMap, its two libraries hash-locked.

Nothing is installed at run time without an exact version and hash; an image that has the libraries (see `Dockerfile`
beside this file) installs nothing at all.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from components.inference_cluster import Manifest
from components.settings import Mirror

IMAGE: Final = "python:3.12.11-slim-bookworm"
"""A public image with Python and pip; the libraries' wheels are for this Python."""
_FOLDER: Final = Path(__file__).parent
_NOT_IN_THE_POD: Final = frozenset(
    {"bucket_fill.py", "delivery.py", "folders.py", "kept_bucket.py", "program.py", "sync_job.py"}
)
_CODE: Final = "/program"
_SITE: Final = "/work/site"
_VOLUME: Final = "weights-program"
_WORK: Final = "weights-work"
_INSTALL: Final = (
    f"python -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes --target {_SITE} "
    f"-r {_CODE}/requirements.txt"
)


Ending = Literal["tell", "forgive", "stay"]
"""Tell the exit status, or forgive any, or then stay: a container that fails costs a LeaderWorkerSet its group."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """The program as pods run it."""

    config_map: str
    """Name of the ConfigMap that holds its files."""
    mirror: Mirror
    image: str | None
    """An image that has the libraries; None installs them into the public one."""


@functools.cache
def config_map_data() -> Mapping[str, str]:
    """Return the program's files by key; a key can't hold a slash, so the packages are made by `volumes`."""
    modules = sorted(path for path in _FOLDER.glob("*.py") if path.name not in _NOT_IN_THE_POD)
    return {path.name: path.read_text() for path in [*modules, _FOLDER / "requirements.txt"]}


def config_map_name(prefix: str, data: Mapping[str, str]) -> str:
    """Return a name that changes with any file, so that a new program is a new, immutable ConfigMap."""
    joined = "\0".join(f"{name}\0{text}" for name, text in sorted(data.items()))
    return f"{prefix}-{hashlib.sha256(joined.encode()).hexdigest()[:8]}"


def volumes(program: Program) -> list[Manifest]:
    """Return the program's volumes: the package `components.weights` and a place for the libraries."""
    names = config_map_data()
    items = [{"key": name, "path": f"components/weights/{name}"} for name in names if name.endswith(".py")]
    items += [
        {"key": "requirements.txt", "path": "requirements.txt"},
        # The package above it needs a file too, and a docstring is all that this one holds.
        {"key": "__init__.py", "path": "components/__init__.py"},
    ]
    return [
        {"name": _VOLUME, "configMap": {"name": program.config_map, "items": items}},
        {"name": _WORK, "emptyDir": {}},
    ]


def container(
    name: str,
    program: Program,
    module: str,
    arguments: Sequence[str],
    env: Sequence[Manifest],
    *,
    ending: Ending = "tell",
) -> dict[str, object]:
    """Return a container that runs a module of the program.

    Args:
        name: The container's name.
        program: Where its files are, and the image.
        module: Such as `components.weights.sync`.
        arguments: Of the module.
        env: Credentials and endpoints; HOME and the import path are added.
        ending: What becomes of its exit status.
    """
    index = program.mirror.python_index
    return {
        "name": name,
        "image": program.mirror.mirrored(program.image or IMAGE),
        "imagePullPolicy": "IfNotPresent",
        # The shell replaces itself, so that SIGTERM reaches the program.
        "command": ["sh", "-ec", _script(program, module, ending), name],
        "args": list(arguments),
        "env": [
            {"name": "PYTHONPATH", "value": f"{_CODE}:{_SITE}"},
            {"name": "PYTHONUNBUFFERED", "value": "1"},
            {"name": "HOME", "value": "/work"},
            *([{"name": "PIP_INDEX_URL", "value": index}] if index else []),
            *env,
        ],
        "volumeMounts": [
            {"name": _VOLUME, "mountPath": _CODE, "readOnly": True},
            {"name": _WORK, "mountPath": "/work"},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The last lines of the log become the reason that `pulumi up` prints.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _script(program: Program, module: str, ending: Ending) -> str:
    run = f'python -m {module} "$@"'
    install = [] if program.image else [_INSTALL]
    if ending == "tell":
        return "\n".join([*install, f"exec {run}"])
    steps = " && ".join([*install, run])
    # The shell is process 1, which no signal ends unless it is caught.
    waited = f"trap 'exit 0' TERM INT\n{{ {steps}; }} &\nwait $! || echo 'it is left out' >&2"
    return waited if ending == "forgive" else f"{waited}\nsleep infinity &\nwait"
