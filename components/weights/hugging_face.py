"""The Hugging Face hub as a source: one request lists a commit, one more each file."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import quote

from components.weights.hub_client import HubClient
from components.weights.manifest import File, belongs
from components.weights.source import Interrupted, Listing, Refused

ENDPOINT: Final = "https://huggingface.co"


class HuggingFace:
    """One repository at one commit."""

    def __init__(self, client: HubClient, repository: str, commit: str) -> None:
        self._client = client
        self._repository = quote(repository)
        self._commit = commit

    @property
    def name(self) -> str:
        """The hub's host."""
        return self._client.host

    def list(self) -> Listing:
        """Return the files of the commit, see `Source`."""
        content = self._client.json(f"/api/models/{self._repository}/revision/{self._commit}?blobs=true")
        try:
            found, files = _read(content)
        except (KeyError, TypeError):
            raise Interrupted(f"{self.name} answered with a listing of another form") from None
        if found != self._commit:
            raise Refused(f"{self.name} resolves {self._commit} to {found!r}; --revision has to be the commit itself")
        return Listing(found, files)

    def open(self, file: File, offset: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return a file's bytes, see `Source`."""
        path = f"/{self._repository}/resolve/{self._commit}/{quote(file.path)}"
        return self._client.open(path, offset, file.size)


def _read(content: Any) -> tuple[str, tuple[File, ...]]:  # noqa: ANN401 - JSON
    kept = [entry for entry in content["siblings"] if belongs(entry["rfilename"])]
    return content["sha"], tuple(sorted((_file(entry) for entry in kept), key=lambda file: file.path))


def _file(entry: Mapping[str, Any]) -> File:
    """Return one entry; the sha256 is known of LFS files, git's blob id of the others."""
    large = entry.get("lfs")
    return File(
        path=entry["rfilename"],
        size=large["size"] if large else entry["size"],
        sha256=large["sha256"] if large else None,
        git_sha1=None if large else entry["blobId"],
    )
