"""What every test of the GCP components takes for granted."""

import pytest


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gke-gcloud-auth-plugin` is there."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
