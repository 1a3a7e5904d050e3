"""Which part comes next: in order within a shard, in turn among a few shards, and those given back before all."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator

from components.weights.shard_file import Part, ShardFile


class PartQueue:
    """Parts of many shards for many threads. Shards are opened when their turn comes, a few at once."""

    def __init__(self, shards: Iterable[ShardFile], at_once: int) -> None:
        self._waiting = deque(shards)
        self._open: deque[Iterator[Part]] = deque()
        self._returned: deque[Part] = deque()
        self._at_once = at_once
        self._left = len(self._waiting)
        self._closed = self._left == 0
        self._changed = threading.Condition()

    @property
    def closed(self) -> bool:
        """Whether there is nothing more to do."""
        return self._closed

    def take(self) -> Part | None:
        """Return the next part, when there is one, or None at the end.

        Raises:
            OSError: The next shard has no room on the disk.
        """
        with self._changed:
            while not self._closed:
                part = self._next()
                if part is not None:
                    return part
                # Others are on their way; any of them may come back.
                self._changed.wait()
        return None

    def give_back(self, part: Part) -> None:
        """Have somebody else go on with a part."""
        with self._changed:
            self._returned.append(part)
            self._changed.notify()

    def again(self, shard: ShardFile) -> None:
        """Have a whole shard fetched again."""
        with self._changed:
            self._waiting.appendleft(shard)
            self._changed.notify_all()

    def done(self) -> None:
        """Count one shard as done; after the last one, everybody goes home."""
        with self._changed:
            self._left -= 1
            if not self._left:
                self._close()

    def close(self) -> None:
        """Send everybody home."""
        with self._changed:
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._changed.notify_all()

    def _next(self) -> Part | None:
        if self._returned:
            return self._returned.popleft()
        while self._open or self._waiting:
            while self._waiting and len(self._open) < self._at_once:
                self._open.append(iter(self._waiting.popleft().open()))
            parts = self._open.popleft()
            part = next(parts, None)
            if part is not None:
                self._open.append(parts)
                return part
        return None
