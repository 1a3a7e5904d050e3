"""Names fit their limits for any input and never collide by being cut."""

import re

from hypothesis import given
from hypothesis import strategies as st

from components import labels, naming


def test_a_legal_name_stays() -> None:
    assert naming.leader_worker_set_name("kimi-k3", 1) == "kimi-k3"


@given(name=st.text(max_size=300), replicas=st.integers(0, 100))
def test_leader_worker_set_can_derive_its_labels(name: str, replicas: int) -> None:
    short = naming.leader_worker_set_name(name, replicas)
    # kubernetes-sigs/lws#410: <name>-<group>-<hash of up to 10> must be a label value.
    assert len(f"{short}-{max(replicas, 1) - 1}-") + 10 <= 63
    assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", short)


def test_fifty_characters_for_under_ten_replicas() -> None:
    assert naming.leader_worker_set_name("k" * 50, 9) == "k" * 50
    assert len(naming.leader_worker_set_name("k" * 51, 9)) == 50


@given(first=st.text(max_size=80), second=st.text(max_size=80))
def test_two_names_never_become_one(first: str, second: str) -> None:
    if first != second:
        assert naming.fit(first, 40) != naming.fit(second, 40)


@given(text=st.text(max_size=200))
def test_label_values_are_legal(text: str) -> None:
    assert re.fullmatch(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", labels.value(text))
