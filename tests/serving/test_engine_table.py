"""The committed table of what the engine accepts, the check against it, and the reader that makes it."""

import json
from typing import Any

import pytest

from tests.serving import engine_table
from tests.serving.engine_source import Flag, Reader, Source
from tests.serving.engine_table import build, committed, faults, render

MODEL = "/models/k3"

CONFIG = """
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from .base import Base
if TYPE_CHECKING:
    from elsewhere import Formats
else:
    Formats = str
Inner = Literal["a", "b"]
Backend = Literal[Inner, "passthrough"]
REFUSED = "passthrough"
class Attention(Enum):
    FLASH = "x.Flash"
    CUSTOM = None
    def register(self): ...
@config
class Nested:
    key: int = 1
    made: int = field(default=0, init=False)
    shared: ClassVar[int] = 0
@config(config={})
class Parallel(Base):
    size: Annotated[int, "positive"] = 1
    backend: Backend = "a"
    loose: Backend | str = "a"
    formats: str | Formats = "auto"
    enum: Attention | None = None
    nested: Nested = Nested()
    mapping: dict[str, Any] = field(default_factory=dict)
    mapping_or_text: str | dict[str, str] = ""
    ranks: Literal[8, 16] | None = None
    ratio: "float | None" = None
    many: list[Inner] | None = None
    pair: tuple[int, int] = (1, 1)
    token: bool | str | None = None
"""
BASE = """
class Base:
    enable_thing: bool | None = None
"""
ARGUMENTS = """
from pkg.config import *
class Engine:
    @staticmethod
    def add_cli_args(parser):
        kwargs = get_kwargs(Parallel)
        kwargs["backend"]["choices"].remove(REFUSED)
        kwargs["mapping_or_text"]["type"] = optional_type(json.loads)
        group = parser.add_argument_group(title="Parallel")
        group.add_argument("--size", "-s", **kwargs["size"])
        if not quiet:
            group.add_argument("--backend", **{**kwargs["backend"], "default": None})
        group.add_argument("--loose", **kwargs["loose"])
        group.add_argument("--formats", **kwargs["formats"])
        group.add_argument("--enum", **kwargs["enum"])
        group.add_argument("--nested", **kwargs["nested"])
        group.add_argument("--mapping", **kwargs["mapping"])
        group.add_argument("--mapping-or-text", **kwargs["mapping_or_text"])
        group.add_argument("--ranks", **kwargs["ranks"])
        group.add_argument("--ratio", **kwargs["ratio"])
        group.add_argument("--many", **kwargs["many"])
        group.add_argument("--pair", **kwargs["pair"])
        group.add_argument("--token", **kwargs["token"])
        group.add_argument("--enable-thing", **kwargs["enable_thing"])
        group.add_argument("--headless", action="store_true")
        group.add_argument("--device", choices=["auto"] + ([platform.kind] if platform else []))
        group.add_argument("--inner", choices=get_args(Inner))
        return parser
"""
FRONTEND = """
from pkg.arguments import Engine
from pkg.config import config
@config
class Front:
    some_names: list[str] | None = None
    middleware: list[str] = []
    @classmethod
    def _customize(cls, kwargs):
        return kwargs
    @classmethod
    def add_cli_args(cls, parser):
        kwargs = cls._customize(get_kwargs(cls))
        for key, value in kwargs.items():
            extra = value.pop("flags", [])
            parser.add_argument(*extra, f"--{key.replace('_', '-')}", **value)
        return parser
@config
class Server(Front):
    use_docs: bool = False
    @classmethod
    def _customize(cls, kwargs):
        kwargs = super()._customize(kwargs)
        kwargs["middleware"]["action"] = "append"
        if "nargs" in kwargs["middleware"]:
            del kwargs["middleware"]["nargs"]
        return kwargs
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser = Server.add_cli_args(parser)
    parser = Engine.add_cli_args(parser)
    return parser
"""
PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/config/__init__.py": "from .parallel import *\n",
    "pkg/config/parallel.py": CONFIG,
    "pkg/config/base.py": BASE,
    "pkg/arguments.py": ARGUMENTS,
    "pkg/frontend.py": FRONTEND,
}


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(PACKAGE)


@pytest.fixture(scope="module")
def flags(source: Source) -> dict[str, Flag]:
    inverses = {"--enable-": "--disable-"}
    return Reader(source, inverses).read(source.find("pkg.frontend", "make_arg_parser")).flags


class TestCommittedTable:
    def test_it_is_of_the_pinned_release_and_in_the_committed_form(self) -> None:
        assert committed()["version"] == engine_table.VERSION
        assert engine_table.TABLE.read_text(encoding="utf-8") == render(committed())

    def test_the_model_is_positional(self) -> None:
        assert "--model-tag" not in committed()["flags"]
        assert all(name.startswith("--") for name in committed()["flags"])

    @pytest.mark.parametrize(
        ("flag", "kind"),
        [
            ("--tensor-parallel-size", "value"),
            ("--pipeline-parallel-size", "value"),
            ("--nnodes", "value"),
            ("--node-rank", "value"),
            ("--master-addr", "value"),
            ("--shutdown-timeout", "value"),
            ("--headless", "bool"),
            ("--enable-auto-tool-choice", "bool"),
            ("--enable-prefix-caching", "bool"),
        ],
    )
    def test_flags_we_rely_on(self, flag: str, kind: str) -> None:
        assert committed()["flags"][flag]["kind"] == kind

    def test_a_switch_lists_its_negation_only_if_it_has_one(self) -> None:
        assert "--no-enable-prefix-caching" in committed()["flags"]["--enable-prefix-caching"]["aliases"]
        assert committed()["flags"]["--headless"]["aliases"] == []

    @pytest.mark.parametrize(
        ("names", "name"),
        [
            ("kv_cache_dtypes", "fp8"),
            ("tool_call_parsers", "kimi_k3"),
            ("reasoning_parsers", "kimi_k3"),
            ("load_formats", "fastsafetensors"),
            ("load_formats", "instanttensor"),
            ("load_formats", "runai_streamer"),
            ("attention_backends", "FLASHINFER_MLA"),
            ("distributed_executor_backends", "mp"),
            ("moe_backends", "marlin"),
            ("attention_config_keys", "use_prefill_query_quantization"),
            ("attention_config_keys", "mla_prefill_backend"),
            ("speculative_config_keys", "num_speculative_tokens"),
            ("compilation_pass_config_keys", "fuse_allreduce_rms"),
            ("kv_transfer_config_keys", "kv_connector"),
            ("environment", "VLLM_ENGINE_READY_TIMEOUT_S"),
        ],
    )
    def test_names_we_rely_on(self, names: str, name: str) -> None:
        assert name in committed()[names]

    @pytest.mark.parametrize(
        "name",
        [
            "VLLM_ENABLE_K3_LATENT_MOE_TAIL_FUSION",
            "VLLM_RPC_TIMEOUT",
            "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4",
        ],
    )
    def test_variables_of_recipes_that_the_release_does_not_know(self, name: str) -> None:
        assert name not in committed()["environment"]

    def test_passthrough_is_no_choice_of_the_flag(self) -> None:
        choices = committed()["flags"]["--all2all-backend"]["choices"]
        assert "passthrough" not in choices
        assert set(committed()["all2all_backends"]) == {*choices, "passthrough"}

    def test_the_streamers_own_keys(self) -> None:
        keys = committed()["model_loader_extra_config_keys"]
        assert keys["runai_streamer"] == ["concurrency", "distributed", "memory_limit"]
        assert "concurrency" not in keys["fastsafetensors"]


class TestAccepted:
    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["--tensor-parallel-size", "8"],
            ["--tensor-parallel-size=8"],
            ["-tp", "8"],
            ["--max-model-len", "auto"],
            ["--max-model-len", "-1"],
            ["--node-rank", "$(LWS_WORKER_INDEX)"],
            ["--gpu-memory-utilization", "0.92"],
            ["--headless"],
            ["--no-enable-prefix-caching"],
            ["--disable-prefix-caching"],
            ["--served-model-name", "Kimi-K3", "k3"],
            ["--cudagraph-capture-sizes", "1", "2", "4"],
            ["--middleware", "a.b", "--middleware", "c.d"],
            ["--hf-token"],
            ["--max-lora-rank", "16"],
            ["--load-format", "runai_streamer"],
            ["--tool-call-parser", "kimi_k3", "--reasoning-parser", "kimi_k3"],
            ["--kv-cache-dtype", "fp8"],
            ["--attention-backend", "FLASHINFER_MLA"],
            ["--distributed-executor-backend", "mp"],
            ["--moe-backend", "marlin"],
            ["--all2all-backend", "deepep_low_latency"],
            ["--attention-config", '{"use_prefill_query_quantization": true}'],
            ['--attention-config={"mla_prefill_backend": "FLASHINFER"}'],
            ["--speculative-config", '{"method": "dspark", "num_speculative_tokens": 3}'],
            ["--compilation-config", '{"pass_config": {"fuse_allreduce_rms": true}}'],
            ["--load-format", "runai_streamer", "--model-loader-extra-config", '{"concurrency": 16}'],
            ["--load-format", "safetensors", "--model-loader-extra-config", '{"num_threads": 8}'],
            ["--limit-mm-per-prompt", '{"image": 4}'],
            ["--hf-overrides", '{"text_config": {"anything": 1}}'],
            ["--pt-load-map-location", "cpu"],
        ],
        ids=" ".join,
    )
    def test_arguments(self, arguments: list[str]) -> None:
        assert faults([MODEL, *arguments], {}) == []

    def test_the_streamers_keys_when_object_storage_chooses_it(self) -> None:
        assert faults(["s3://bucket/k3", "--model-loader-extra-config", '{"concurrency": 16}'], {}) == []

    def test_known_and_foreign_variables(self) -> None:
        assert faults([MODEL], {"VLLM_ENGINE_READY_TIMEOUT_S": "3600", "NCCL_DEBUG": "WARN"}) == []


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "fault"),
        [
            (["--swap-space", "4"], "unknown flag --swap-space"),
            (["--tensor_parallel_size", "8"], "unknown flag --tensor_parallel_size"),
            (["--tensor-parallel", "8"], "unknown flag --tensor-parallel"),
            (["--no-headless"], "unknown flag --no-headless"),
            (["other"], "unknown argument other"),
            (["--model", "other"], "--model is given beside the positional model"),
            (["--tensor-parallel-size"], "--tensor-parallel-size has no value"),
            (["--tensor-parallel-size", "--headless"], "--tensor-parallel-size has no value"),
            (["--served-model-name"], "--served-model-name has no value"),
            (["--api-key", ""], "--api-key has no value"),
            (["--tensor-parallel-size", "8", "8"], "--tensor-parallel-size takes 1 value(s): 8 8"),
            (["--tensor-parallel-size", "None"], "--tensor-parallel-size takes a plain int: None"),
            (["--max-num-batched-tokens", "8k"], "--max-num-batched-tokens takes a plain int: 8k"),
            (["--gpu-memory-utilization", "92%"], "--gpu-memory-utilization takes a plain float: 92%"),
            (["--headless", "true"], "--headless takes no value: true"),
            (["--enable-prefix-caching=1"], "--enable-prefix-caching takes no value: 1"),
            (["--max-lora-rank", "7"], "--max-lora-rank does not know 7"),
            (["--load-format", "bogus"], "--load-format does not know bogus"),
            (["--tool-call-parser", "bogus"], "--tool-call-parser does not know bogus"),
            (["--reasoning-parser", "bogus"], "--reasoning-parser does not know bogus"),
            (["--kv-cache-dtype", "bogus"], "--kv-cache-dtype does not know bogus"),
            (["--attention-backend", "flashmla"], "--attention-backend does not know flashmla"),
            (["--distributed-executor-backend", "bogus"], "--distributed-executor-backend does not know bogus"),
            (["--moe-backend", "MARLIN"], "--moe-backend does not know MARLIN"),
            (["--all2all-backend", "passthrough"], "--all2all-backend does not know passthrough"),
            (["--attention-config", '{"nope": 1}'], "--attention-config has no key nope"),
            (["--attention-config", "[]"], "--attention-config is not a JSON object: []"),
            (["-ac", '{"nope": 1}'], "-ac has no key nope"),
            (["--speculative-config", '{"nope": 1}'], "--speculative-config has no key nope"),
            (["--compilation-config", '{"nope": 1}'], "--compilation-config has no key nope"),
            (
                ["--compilation-config", '{"pass_config": {"nope": 1}}'],
                "--compilation-config has no key pass_config.nope",
            ),
            (
                ["--load-format", "runai_streamer", "--model-loader-extra-config", '{"nope": 1}'],
                "--model-loader-extra-config has no key nope",
            ),
            (
                ["--load-format", "fastsafetensors", "--model-loader-extra-config", '{"concurrency": 16}'],
                "--model-loader-extra-config has no key concurrency",
            ),
            (["--headless", "--headless"], "--headless is given 2 times"),
            (["-tp", "8", "--tensor-parallel-size", "8"], "--tensor-parallel-size is given 2 times"),
            (
                ["--enable-prefix-caching", "--no-enable-prefix-caching"],
                "--enable-prefix-caching is given 2 times",
            ),
            (["--api-key", "a", "--api-key", "b"], "--api-key is given 2 times"),
        ],
    )
    def test_arguments(self, arguments: list[str], fault: str) -> None:
        assert faults([MODEL, *arguments], {}) == [fault]

    @pytest.mark.parametrize(
        "flag",
        [
            "--attention-config",
            "--speculative-config",
            "--compilation-config",
            "--model-loader-extra-config",
            "--limit-mm-per-prompt",
        ],
    )
    def test_broken_json(self, flag: str) -> None:
        (fault,) = faults([MODEL, flag, "{'single': 1}"], {})
        assert fault.startswith(f"{flag} is not JSON")

    @pytest.mark.parametrize("arguments", [[], [""], ["--headless"]])
    def test_no_model(self, arguments: list[str]) -> None:
        assert "the first argument must be the model" in faults(arguments, {})

    def test_an_unknown_variable(self) -> None:
        assert faults([MODEL], {"VLLM_RPC_TIMEOUT": "1"}) == ["unknown environment variable VLLM_RPC_TIMEOUT"]

    def test_every_fault_is_reported(self) -> None:
        assert len(faults(["--nope", "--headless", "x"], {"VLLM_NOPE": "1"})) == 4


class TestReader:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("--size", {"aliases": ["-s"], "kind": "value", "type": "int", "choices": None, "nargs": None}),
            ("--backend", {"choices": ["a", "b"]}),
            ("--loose", {"choices": None, "type": "str"}),
            ("--formats", {"choices": None, "type": "str"}),
            ("--enum", {"choices": None, "type": "str"}),
            ("--nested", {"type": "json"}),
            ("--mapping", {"type": "json"}),
            ("--mapping-or-text", {"type": "json"}),
            ("--ranks", {"choices": ["16", "8"], "type": "int"}),
            ("--ratio", {"type": "float"}),
            ("--many", {"choices": ["a", "b"], "nargs": "+"}),
            ("--pair", {"type": "int", "nargs": 2}),
            ("--token", {"kind": "value", "nargs": "?"}),
            ("--enable-thing", {"aliases": ["--disable-thing", "--no-enable-thing"], "kind": "bool", "nargs": 0}),
            ("--headless", {"aliases": [], "kind": "bool", "type": None}),
            ("--device", {"choices": None}),
            ("--inner", {"choices": ["a", "b"]}),
            ("--some-names", {"nargs": "+", "repeatable": False}),
            ("--middleware", {"nargs": None, "repeatable": True}),
            ("--use-docs", {"aliases": ["--no-use-docs"], "kind": "bool"}),
        ],
    )
    def test_flag(self, flags: dict[str, Flag], name: str, expected: dict[str, Any]) -> None:
        assert {key: flags[name].entry()[key] for key in expected} == expected

    def test_positional_arguments_are_no_flags(self, flags: dict[str, Flag]) -> None:
        assert not [name for name in flags if "model" in name]

    def test_a_mapping_that_may_be_text_keeps_both(self, source: Source) -> None:
        keywords = Reader(source).keywords(source.find("pkg.config", "Parallel"))
        assert keywords["mapping_or_text"]["type"].text == "union_dict_and_str"

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("Backend", ["a", "b", "passthrough"]),
            ("Attention", ["CUSTOM", "FLASH"]),
            ("Nested", ["key"]),
        ],
    )
    def test_names(self, source: Source, name: str, expected: list[str]) -> None:
        assert source.names(source.find("pkg.config", name)) == expected

    def test_keys_of_an_annotated_dict(self) -> None:
        text = 'variables: dict[str, object] = {"B": lambda: 1, "A": helper("A")}'
        source = Source({"envs.py": text})
        assert source.names(source.find("envs", "variables")) == ["A", "B"]

    def test_a_name_that_the_release_does_not_have(self, source: Source) -> None:
        with pytest.raises(LookupError, match=r"no pkg\.config\.Gone"):
            source.find("pkg.config", "Gone")

    def test_imports_in_a_circle_end(self) -> None:
        source = Source({"a.py": "from b import X", "b.py": "from a import X"})
        with pytest.raises(LookupError):
            source.find("a", "X")


class TestTable:
    def test_a_release_without_a_parser(self) -> None:
        with pytest.raises(LookupError, match="make_arg_parser"):
            build("0", {"vllm/__init__.py": ""})

    def test_rendering_is_sorted_json_with_one_entry_a_line(self) -> None:
        text = render({"version": "1", "names": ["b", "a"], "flags": {"--b": {"y": 1, "x": 2}, "--a": {}}})
        assert json.loads(text)["names"] == ["a", "b"]
        assert text.splitlines()[1:5] == [' "flags": {', '  "--a": {},', '  "--b": {"x": 2, "y": 1}', " },"]
