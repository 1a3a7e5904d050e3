"""One fetch a folder."""

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from components.weights.fetch_error import FetchError
from components.weights.folder_lock import folder_lock


def test_the_second_waits_and_says_for_whom(tmp_path: Path) -> None:
    lock, said, order = tmp_path / "lock", list[str](), list[str]()

    def second() -> None:
        with folder_lock(lock, time.monotonic() + 10, said.append):
            order.append("second")

    with folder_lock(lock, time.monotonic(), said.append):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            time.sleep(0.01)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert f"(process {os.getpid()}, since " in said[0]
    assert len(said) == 1


def test_waiting_ends_at_the_deadline(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with (
        folder_lock(lock, time.monotonic(), lambda _: None),
        pytest.raises(FetchError, match="still holds the folder"),
        folder_lock(lock, 0.0, lambda _: None),
    ):
        pass


def test_a_lock_whose_folder_was_removed_meanwhile_is_taken_anew(tmp_path: Path) -> None:
    lock, said = tmp_path / "folder" / "lock", list[str]()
    held = threading.Event()

    def second() -> None:
        with folder_lock(lock, time.monotonic() + 10, said.append):
            assert lock.exists()
            held.set()

    with folder_lock(lock, time.monotonic(), said.append):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            time.sleep(0.01)
        shutil.rmtree(lock.parent)
    thread.join()
    assert held.is_set()
