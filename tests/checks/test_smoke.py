"""All checks against a server that answers as vLLM does, and each of them against one that doesn't."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks import smoke
from checks.check import Result, Subject, run
from checks.endpoint import Endpoint
from checks.expectation import Expectation
from tests.checks.fake_vllm import CONTEXT, KEY, MODEL, FakeVllm
from tests.weights.loopback import free_port

pytestmark = pytest.mark.servers

NAMES = [check.name for check in smoke.CHECKS]
HINTS = {
    "health": "kubectl logs --previous",
    "models": "--max-model-len",
    "answer": "weights load but are wrong",
    "reasoning": "--reasoning-parser kimi_k3",
    "tools": "--tool-call-parser kimi_k3",
    "structured": "grammar",
    "image": "vision encoder",
    "streaming": "idle time",
    "long-context": "--context",
    "prefix-cache": "--enable-prefix-caching",
    "key": "VLLM_API_KEY",
    "open-paths": "/v1 and /health alone",
    "load": "preemptions",
}


def verified(
    fake: FakeVllm, *only: str, clock: Callable[[], float] = time.monotonic, **changes: Any
) -> dict[str, Result]:
    """Run checks against a running server, with the plan that it was made for."""
    plan = Expectation(gpu="B300", tensor_parallel=8, context=CONTEXT)
    small: dict[str, Any] = {"context": 4000, "levels": (1, 2), "expectation": plan, **changes}
    subject = Subject(endpoint=Endpoint(fake.url, fake.key, clock=clock), model=MODEL, **small)
    return {result.name: result for result in run(smoke.chosen(only, ()), subject)}


def statuses(results: dict[str, Result], status: str) -> list[str]:
    return [name for name, result in results.items() if result.status == status]


def test_a_sound_server_passes_every_check() -> None:
    with FakeVllm().running() as fake:
        results = verified(fake)
    assert {name: result.detail for name, result in results.items() if result.status != "passed"} == {}
    assert list(results) == NAMES
    assert "vllm-0.33.0-tp8" in results["answer"].detail


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_fails_its_own_check_alone_with_a_hint(name: str) -> None:
    with FakeVllm(broken=name).running() as fake:
        # Through a public address the open paths are a fault by themselves.
        results = verified(fake, public=name == "open-paths")
    assert statuses(results, "failed") == [name]
    assert HINTS[name] in results[name].hint


def test_every_check_has_a_fault_of_its_own_here() -> None:
    assert list(HINTS) == NAMES


def test_what_is_slower_than_published_fails_with_a_likely_cause() -> None:
    """A clock that runs ten thousand times as fast makes any server slow."""
    with FakeVllm().running() as fake:
        result = verified(fake, "load", clock=lambda: time.monotonic() * 1e4)["load"]
    assert result.status == "failed"
    # 0.9 x 111 tokens a second.
    assert "100 expected" in result.detail
    assert "--enforce-eager" in result.hint
    assert len(result.data["levels"]) == 2


def test_where_nobody_published_a_figure_none_is_expected() -> None:
    with FakeVllm().running() as fake:
        plan = Expectation(gpu="H200", tensor_parallel=8, pipeline_parallel=2)
        result = verified(fake, "load", clock=lambda: time.monotonic() * 1e4, expectation=plan)["load"]
    assert result.status == "passed"
    assert "nobody has published" in result.detail


def test_a_tool_call_that_is_dropped_once_is_asked_for_again() -> None:
    with FakeVllm(dropped_calls=1).running() as fake:
        assert verified(fake, "tools")["tools"].data == {"tries": 2}
    with FakeVllm(dropped_calls=2).running() as fake:
        assert verified(fake, "tools")["tools"].status == "failed"
        assert len(fake.asked) == 2


def test_an_engine_for_text_alone_is_asked_for_no_picture() -> None:
    with FakeVllm(text_only=True).running() as fake:
        results = verified(fake)
    assert statuses(results, "skipped") == ["image"]
    assert statuses(results, "failed") == []


def test_behind_a_route_the_open_paths_are_closed_and_the_metrics_are_missed() -> None:
    with FakeVllm(route=True).running() as fake:
        results = verified(fake, public=True)
    assert statuses(results, "failed") == []
    assert statuses(results, "skipped") == ["prefix-cache"]
    assert "--port-forward" in results["prefix-cache"].detail
    assert set(results["open-paths"].data["status"].values()) == {404}


def test_the_key_is_never_sent_to_the_paths_that_need_none() -> None:
    with FakeVllm(key=None).running() as fake:
        results = verified(fake, "key", "open-paths")
    assert results["key"].status == "skipped"
    assert [path for path, _ in fake.asked] == ["/invocations", "/tokenize"]


def test_a_long_prompt_is_as_long_as_was_asked_and_has_the_needle_at_its_depth() -> None:
    with FakeVllm().running() as fake:
        result = verified(fake, "long-context", context=20_000, depth=0.9)["long-context"]
        prompt = str(fake.asked[-1][1]["messages"][0]["content"])
    assert result.data["promptTokens"] == pytest.approx(20_000, rel=0.02)
    assert prompt.index("The code word") / len(prompt) == pytest.approx(0.9, abs=0.01)


def test_the_longest_prompt_leaves_room_for_the_answer() -> None:
    with FakeVllm(context=16_384).running() as fake:
        result = verified(fake, "long-context", context=None)["long-context"]
    assert result.status == "passed"
    assert result.data["promptTokens"] == pytest.approx(16_384 - 4096 - 256, rel=0.02)


def test_two_loads_never_share_a_prompt() -> None:
    with FakeVllm().running() as fake:
        verified(fake, "load")
        prompts = [body["messages"][0]["content"] for _, body in fake.asked]
    assert len(set(prompts)) == len(prompts) == 3 + 4
    assert fake.hits == 0


def test_what_cannot_be_reached_is_not_asked_thirteen_times() -> None:
    fake = FakeVllm(url=f"http://127.0.0.1:{free_port()}/v1")
    results = verified(fake)
    assert statuses(results, "failed") == ["health"]
    assert statuses(results, "skipped") == NAMES[1:]
    assert "exposure.allowedRanges" in results["health"].hint


def test_a_wrong_key_is_named_as_such() -> None:
    with FakeVllm().running() as fake:
        fake_client = FakeVllm(key="another", url=fake.url)
        assert "another key" in verified(fake_client, "answer")["answer"].hint


def command(fake: FakeVllm, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setenv(smoke.KEY_VARIABLE, KEY)
    return smoke.main(["--url", fake.url, "--levels", "1", "--context", "4000", *arguments])


def test_the_command_prints_a_line_for_each_check_and_the_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeVllm(broken="tools").running() as fake:
        assert command(fake, monkeypatch, "--skip", "load") == 1
    out = capsys.readouterr().out
    assert "FAILED   tools" in out
    assert "-> the engine needs --enable-auto-tool-choice" in out
    assert out.rstrip().endswith("11 passed, 1 failed")
    assert KEY not in out


def test_json_is_one_object_without_the_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / "load.svg"
    with FakeVllm().running() as fake:
        assert command(fake, monkeypatch, "--json", "--only", "load,key", "--plot", str(picture)) == 0
    out = capsys.readouterr().out
    said = json.loads(out)
    assert [check["name"] for check in said["checks"]] == ["key", "load"]
    assert said["checks"][1]["data"]["levels"][0]["atOnce"] == 1
    assert KEY not in out
    assert picture.read_text().startswith("<svg ")


def test_a_check_that_there_is_not_is_refused_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        smoke.main(["aws", "--only", "tool"])
    assert ended.value.code == 2
    assert "did you mean tools?" in capsys.readouterr().err
