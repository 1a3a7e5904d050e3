"""What every test of the AWS components takes for granted."""

import pytest


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The `aws` command is there."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
