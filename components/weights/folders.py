"""Where in a bucket, and on a node, the model and its draft model are: one folder a commit."""

from dataclasses import dataclass
from typing import Final

from components.plan.model import KIMI_K3, Repository

KERNELS: Final = "kernel-cache"
"""Folder for kernels that engines compiled: the only one that they may write."""


@dataclass(frozen=True, kw_only=True)
class BucketFolders:
    """The folders of one bucket."""

    url: str
    """Of the bucket, such as s3://name."""
    model: str
    """Folder of the model, with its commit; no slash at either end."""
    draft: str
    """Folder of the draft model, likewise."""

    def of(self, repository: Repository) -> str:
        """Return the folder of one of the two."""
        return self.draft if repository.name == KIMI_K3.draft.name else self.model

    def url_of(self, repository: Repository) -> str:
        """Return the URL of one of the two."""
        return f"{self.url}/{self.of(repository)}"


def own_bucket(url: str, revision: str) -> BucketFolders:
    """Return the folders of a bucket that this program made.

    Args:
        url: Of the bucket.
        revision: The model's commit.
    """
    draft = KIMI_K3.draft
    return BucketFolders(url=url, model=f"{KIMI_K3.repository}/{revision}", draft=f"{draft.name}/{draft.revision}")


def repositories(revision: str, *, draft: bool) -> dict[str, tuple[Repository, float]]:
    """Return what is copied, with its decimal GB: the model, and the draft model where it is used."""
    model = Repository(name=KIMI_K3.repository, revision=revision)
    found = {"model": (model, KIMI_K3.weight_bytes / 1e9)}
    return {**found, "draft": (KIMI_K3.draft, KIMI_K3.draft_gb)} if draft else found
