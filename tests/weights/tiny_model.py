"""A model repository small enough for a test, with every kind of file that a real one has."""

import hashlib
import json
from dataclasses import dataclass, field

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "acme/tiny"


@dataclass
class Model:
    """What the hub has."""

    files: dict[str, bytes]
    commit: str = COMMIT
    repository: str = REPOSITORY
    unlisted: set[str] = field(default_factory=set)
    """Files that the listing leaves out."""

    def large(self, path: str) -> bool:
        """Whether a file is kept in large file storage."""
        return path.endswith(".safetensors") or len(self.files[path]) > 1 << 20

    def git_id(self, path: str) -> str:
        data = self.files[path]
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.files[path]).hexdigest()

    def listed(self) -> list[str]:
        return sorted(set(self.files) - self.unlisted)

    def sibling(self, path: str) -> dict[str, object]:
        """One entry of Hugging Face's listing of a revision."""
        size = len(self.files[path])
        entry: dict[str, object] = {"rfilename": path, "size": size, "blobId": self.git_id(path)}
        large = {"sha256": self.sha256(path), "size": size, "pointerSize": 134}
        return {**entry, "lfs": large} if self.large(path) else entry

    def leaf(self, path: str) -> dict[str, object]:
        """One entry of Hugging Face's tree."""
        size = len(self.files[path])
        entry: dict[str, object] = {"type": "file", "path": path, "size": size, "oid": self.git_id(path)}
        large = {"oid": self.sha256(path), "size": size, "pointerSize": 134}
        return {**entry, "lfs": large} if self.large(path) else entry

    def entry(self, path: str) -> dict[str, object]:
        """One entry of ModelScope's listing."""
        return {"Path": path, "Size": len(self.files[path]), "Sha256": self.sha256(path), "Type": "blob"}


def tiny_model(shards: int = 4, shard_bytes: int = 3000, seed: int = 1) -> Model:
    """Return a model of numbered shards, an index, and all kinds of small files."""
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    files = {name: _noise(shard_bytes, f"{seed}/{name}") for name in names}
    weights = {f"layers.{number}.weight": name for number, name in enumerate(names)}
    files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": weights}, indent=1).encode()
    files |= {"config.json": b'{"model_type": "tiny"}', "README.md": b"# Tiny", "empty.txt": b""}
    files |= {"tokenizer/vocabulary file.txt": b"a b c", ".gitattributes": b"*.safetensors filter=lfs"}
    return Model({**files, "original/consolidated.00.pth": b"old"})


def _noise(size: int, seed: str) -> bytes:
    return hashlib.shake_256(seed.encode()).digest(size)
