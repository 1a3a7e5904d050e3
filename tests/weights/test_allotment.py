"""What a container may use, from the files of its cgroup."""

import os
from pathlib import Path

import pytest

from components.weights.allotment import Allotment, read_allotment


@pytest.mark.parametrize(
    ("cpu", "memory", "want"),
    [
        (None, None, Allotment(cores=8, memory_mib=None)),
        ("max 100000", "max", Allotment(cores=8, memory_mib=None)),
        ("400000 100000", "8589934592", Allotment(cores=4, memory_mib=8192)),
        # Half a core still is one.
        ("50000 100000", "max", Allotment(cores=1, memory_mib=None)),
        # A limit above what the machine has.
        ("6400000 100000", "max", Allotment(cores=8, memory_mib=None)),
    ],
)
def test_the_cgroup_limits_cores_and_memory(
    cpu: str | None, memory: str | None, want: Allotment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    for name, text in (("cpu.max", cpu), ("memory.max", memory)):
        if text is not None:
            (tmp_path / name).write_text(f"{text}\n")
    assert read_allotment(tmp_path) == want
