"""What the clouds' command-line tools are to a preview: there."""

import pytest


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that a preflight looks for is on the PATH."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
