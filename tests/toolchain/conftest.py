"""A machine for the toolchain: an empty tools folder, and a PATH that holds only what the test puts there."""

from pathlib import Path

import pytest

from toolchain import tool, versions

FAKE_GO = """#!/bin/sh
echo "$@" >> {calls}
case "$1" in
  version) echo "go version {version}" ;;
  build)
    {before}
    for argument in "$@"; do
      case "$argument" in -o=*) echo built > "${{argument#-o=}}" ;; esac
    done ;;
esac
"""


class Machine:
    """Folders of a machine, and the stand-in executables in them."""

    def __init__(self, folder: Path) -> None:
        self.on_path = folder / "on-path"
        self.on_path.mkdir()
        self.tools = folder / "tools"
        self._calls = folder / "go-calls"

    def put(self, path: Path, script: str) -> Path:
        """Writes an executable."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
        return path

    def put_cli(self, folder: Path, version: str) -> Path:
        """Writes a Pulumi CLI that does nothing but tell its version."""
        return self.put(folder / "pulumi", f"#!/bin/sh\necho {version}\n")

    def put_go(self, version: str = "go1.26.8", before: str = ":") -> None:
        """Puts a `go` on PATH that runs a line of shell and then writes the executable that it was asked for."""
        script = FAKE_GO.format(calls=self._calls, version=version, before=before)
        self.put(self.on_path / "go", script)

    @property
    def builds(self) -> list[str]:
        """Package of each build so far."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        return [call.split()[-1] for call in calls if call.startswith("build ")]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with nothing on it; the SDK's version is that of the day when the tests were written."""
    made = Machine(tmp_path)
    monkeypatch.setattr(tool, "TOOLS", made.tools)
    monkeypatch.setenv("PATH", str(made.on_path))
    monkeypatch.setattr(versions, "pulumi_sdk", lambda: "3.272.0")
    return made
