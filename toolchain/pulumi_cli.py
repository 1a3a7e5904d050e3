"""Finds a Pulumi CLI that fits the Python SDK, or gets one.

Four ways, the cheapest first; the last one works on a machine that reaches nothing but package registries.
"""

import functools
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

from pulumi import automation
from semver import VersionInfo

from toolchain import go_build, tool, versions

COMMAND = go_build.GoCommand(
    name="pulumi",
    package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    module=tool.MODULES / "pulumi",
    # Without the version `pulumi version` prints an empty line, which the SDK refuses.
    ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{versions.PULUMI}",
    minutes=7,
)

CONNECT_SECONDS = 5.0
"""How long the official download site has to answer before the next way is tried."""


class _NoWayError(Exception):
    """One way of getting the CLI is closed."""


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the path of a Pulumi CLI whose minor version is not older than the SDK's.

    Raises:
        ToolMissingError: No way worked; the message names each with the reason.
    """
    ways: dict[str, Callable[[tool.Say], Path]] = {
        "one on PATH": _on_path,
        "one built before": _built_before,
        "one installed before": _installed_before,
        "the official installer": _by_installer,
        "a build with Go": _by_go,
    }
    closed: list[str] = []
    for name, way in ways.items():
        try:
            return way(say)
        except _NoWayError as reason:
            closed.append(f"  {name}: {reason}")
    wanted = f"No Pulumi CLI that fits the Python SDK {versions.pulumi_sdk()} could be had. Tried:"
    raise tool.ToolMissingError("\n".join([wanted, *closed]))


def _on_path(_say: tool.Say) -> Path:
    found = shutil.which("pulumi")
    return _fitting(Path(found) if found else None)


def _built_before(_say: tool.Say) -> Path:
    return _fitting(tool.TOOLS / "bin" / "pulumi")


def _installed_before(_say: tool.Say) -> Path:
    return _fitting(_install_root() / "bin" / "pulumi")


def _by_installer(say: tool.Say) -> Path:
    root = _install_root()
    try:
        # Any answer will do. Unasked, the installer hangs for minutes behind a firewall that drops packets.
        urllib.request.urlopen("https://get.pulumi.com/install.sh", timeout=CONNECT_SECONDS).close()
        say(f"Installing Pulumi {versions.PULUMI} from get.pulumi.com.")
        automation.PulumiCommand.install(version=VersionInfo.parse(versions.PULUMI), root=str(root))
    except subprocess.CalledProcessError as error:
        raise _NoWayError(f"it failed: {error.output.decode(errors='replace').strip()}") from error
    except (OSError, ValueError) as error:
        raise _NoWayError(f"get.pulumi.com can't be used: {error}") from error
    # Its version was checked by the SDK, after the installation.
    return root / "bin" / "pulumi"


def _by_go(say: tool.Say) -> Path:
    try:
        (built,) = go_build.build([COMMAND], tool.TOOLS / "bin", say)
    except tool.ToolMissingError as error:
        raise _NoWayError(str(error)) from error
    return built


def _install_root() -> Path:
    return tool.TOOLS / "pulumi"


def _fitting(cli: Path | None) -> Path:
    if cli is None or not cli.exists():
        raise _NoWayError("there is none")
    wanted, got = _minor(versions.pulumi_sdk()), _minor(_version_output(cli))
    if got[0] != wanted[0] or got < wanted:
        raise _NoWayError(f"{cli} says version {_version_output(cli) or 'nothing'}, wanted {wanted[0]}.{wanted[1]}+")
    return cli


@functools.cache
def _version_output(cli: Path) -> str:
    result = subprocess.run(  # noqa: S603 - the CLI that the user's PATH or our own folder holds
        [cli, "version"],
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout.strip()


def _minor(version: str) -> tuple[int, int]:
    match = re.match(r"v?(\d+)\.(\d+)\.", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)
