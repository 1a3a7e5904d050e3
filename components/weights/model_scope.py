"""ModelScope as a source, for mainland China: its listing has the sha256 of every file."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import quote, urlencode

from components.weights.hub_client import HubClient
from components.weights.manifest import File, belongs
from components.weights.source import Interrupted, Listing, Refused

ENDPOINT: Final = "https://modelscope.cn"
# Its API returns no more and doesn't say so (modelscope-hub 0.5.1).
_MOST_FILES: Final = 3000


class ModelScope:
    """One repository at one of ModelScope's revisions, whose commits aren't those of Hugging Face."""

    def __init__(self, client: HubClient, repository: str, revision: str, commit: str) -> None:
        """Name the revision on ModelScope and the Hugging Face commit that its bytes stand for."""
        self._client = client
        self._repository = quote(repository)
        self._revision = revision
        self._commit = commit

    @property
    def name(self) -> str:
        """The hub's host."""
        return self._client.host

    def list(self) -> Listing:
        """Return the files of the revision, see `Source`."""
        query = urlencode({"Revision": self._revision, "Recursive": "True"})
        content = self._client.json(f"/api/v1/models/{self._repository}/repo/files?{query}")
        try:
            entries = _entries(content)
            files = tuple(sorted((_file(entry) for entry in entries), key=lambda file: file.path))
        except (KeyError, TypeError):
            raise Interrupted(f"{self.name} answered with a listing of another form") from None
        if len(entries) >= _MOST_FILES:
            raise Refused(f"{self.name} lists at most {_MOST_FILES:,} files, and this repository has more")
        return Listing(self._commit, files)

    def open(self, file: File, offset: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return a file's bytes, see `Source`."""
        query = urlencode({"Revision": self._revision, "FilePath": file.path})
        return self._client.open(f"/api/v1/models/{self._repository}/repo?{query}", offset, file.size)


def _entries(content: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401 - JSON
    return [entry for entry in content["Data"]["Files"] if entry["Type"] != "tree" and belongs(entry["Path"])]


def _file(entry: Mapping[str, Any]) -> File:
    return File(path=entry["Path"], size=entry["Size"], sha256=entry["Sha256"] or None)
