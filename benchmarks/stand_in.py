"""A server in a process of its own, so that neither its time nor its memory is taken for a client's."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

_PATIENCE_SECONDS: Final = 10


@contextmanager
def apart(serve: Callable[[Connection], None]) -> Iterator[Connection]:
    """Run a function in a new process until the block ends; yields this side's end of a pipe to it.

    Args:
        serve: A module's own function. It has to end when its pipe is closed, which `EOFError` tells it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(_PATIENCE_SECONDS)
