"""Bad stack files: every fault at once, each naming the key, the value, the rule and the way out."""

import pytest
import yaml

from components.config import SECRET_KEYS, decoded
from components.existing.settings import ExistingSettings
from components.faults import Fault, Faulty
from components.overrides import estimate_warnings
from components.stack_file import CLOUDS, load
from tests.stacks import PROJECT, loaded, values

REVISION = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"


def faults(**changes: object) -> dict[str, Fault]:
    """Return the faults of the committed stack file with these changes, by key."""
    with pytest.raises(Faulty) as caught:
        load(values(**changes))
    return {fault.key: fault for fault in caught.value.faults}


def test_the_committed_file_has_no_fault() -> None:
    settings, plan = load(values())
    assert isinstance(settings, ExistingSettings)
    assert settings.cluster.context == "gpu-cluster"
    assert str(plan.layout) == "TP8 on 1 node"


def test_five_mistakes_are_five_faults() -> None:
    found = faults(
        machine="8xB30",
        replicas="two",
        wieghts={},
        weights={"revision": "main"},
        exposure={"mode": "open"},
    )
    assert set(found) == {"machine", "replicas", "wieghts", "weights.revision", "exposure.mode"}
    assert found["wieghts"].instead == "weights"
    assert found["machine"].instead == "8xB300"
    assert found["weights.revision"].instead == REVISION


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        ({"cloud": "aw"}, "cloud", "existing"),
        ({"owner": ""}, "owner", "team@example.com"),
        ({"tags": {"a tag": "x"}}, "tags.a tag.[key]", "pattern"),
        ({"replicas": True}, "replicas", "valid integer"),
        ({"replicas": -1}, "replicas", "greater than or equal to 0"),
        ({"serving": {"maxModelLen": 2_000_000}}, "serving.maxModelLen", "1048576"),
        ({"serving": {"prefixCashing": True}}, "serving.prefixCashing", "serving.prefixCaching"),
        ({"serving": {"image": "vllm/vllm-openai:latest"}}, "serving.image", "v0.33.0"),
        ({"serving": {"image": "vllm/vllm-openai"}}, "serving.image", "a tag that moves, or none"),
        ({"serving": {"image": "vllm/vllm-openai:v0.33.0-aarch64"}}, "serving.image", "amd64"),
        ({"serving": {"image": "vllm/vllm-openai-rocm:v0.33.0"}}, "serving.image", "B300 GPUs"),
        ({"serving": {"extraArgs": ["--tensor_parallel_size=4"]}}, "serving.extraArgs", "topology.tensorParallel"),
        ({"serving": {"extraArgs": ["-tp", "4"]}}, "serving.extraArgs", "topology.tensorParallel"),
        ({"serving": {"extraArgs": ["--node-rank", "1"]}}, "serving.extraArgs", "leave it out"),
        ({"serving": {"extraArgs": ["--api-key", "x"]}}, "serving.extraArgs", "kimi-k3:apiKey"),
        ({"serving": {"extraArgs": ["value"]}}, "serving.extraArgs", "must begin with a flag"),
        ({"serving": {"extraArgs": ["--kv-cache-dtype", "fp8_ds_mla"]}}, "serving.extraArgs", "auto, bfloat16 or fp8"),
        ({"serving": {"extraArgs": ["--attention-config={}"]}}, "serving.extraArgs", "use_prefill_query_quantization"),
        ({"serving": {"extraArgs": ["--moe-backend=deep_gemm_mega_moe"]}}, "serving.extraArgs", "expertParallel: true"),
        ({"serving": {"extraArgs": ["--no-enable-chunked-prefill"]}}, "serving.extraArgs", "needs chunked prefill"),
        (
            {"serving": {"extraArgs": ["--prefix-match-unit", "100"]}},
            "serving.extraArgs",
            "1536 tokens of a cache block",
        ),
        ({"serving": {"extraEnv": {"LWS_GROUP_SIZE": "3"}}}, "serving.extraEnv.LWS_GROUP_SIZE", "leave it out"),
        ({"serving": {"extraEnv": {"VLLM_API_KEY": "x"}}}, "serving.extraEnv.VLLM_API_KEY", "kimi-k3:apiKey"),
        ({"serving": {"extraEnv": {"NCCL_DEBUG": 1}}}, "serving.extraEnv.NCCL_DEBUG", "string"),
        ({"serving": {"shutdown": {"graceSeconds": 135}}}, "serving.shutdown.graceSeconds", "15 + drainSeconds 120"),
        ({"serving": {"shutdown": {"drainSeconds": 300}}}, "serving.shutdown.graceSeconds", "= 315"),
        ({"serving": {"rollout": {"maxSurge": 1}}}, "serving.rollout.maxSurge", "(1 + 1) x 1 = 2 nodes"),
        ({"serving": {"rollout": {"maxUnavailable": 0}}}, "serving.rollout.maxUnavailable", "1"),
        ({"serving": {"hostNetwork": True}}, "serving.socketInterface", "^docker0"),
        ({"serving": {"kvOffloadGibPerRank": 640}}, "serving.kvOffloadGibPerRank", "8 ranks x (32 + 640) GiB"),
        ({"exposure": {"mode": "public"}}, "exposure.allowedRanges", "closed ranges"),
        (
            {"exposure": {"mode": "public", "allowedRanges": ["0.0.0.0/0"], "certificateSecret": "tls"}},
            "exposure.allowedRanges",
            "closed ranges",
        ),
        ({"exposure": {"mode": "internal", "allowedRanges": ["10.0.0.0"]}}, "exposure.allowedRanges.0", "pattern"),
        ({"weights": {"revision": ""}}, "weights.revision", REVISION),
        ({"weights": {"path": None}}, "weights", "delivery mounted takes path or claim"),
        ({"weights": {"claim": {"name": "models"}}}, "weights", "mounted with claim, path"),
        ({"weights": {"delivery": "stream"}}, "weights", "Instead: delivery: mounted"),
        ({"weights": {"delivery": "nvme"}}, "weights", "delivery nvme takes bucket and path"),
        ({"weights": {"bucket": {"name": "models"}}}, "weights", "Instead: delivery: nvme"),
        (
            {
                "machine": {
                    "custom": {
                        "gpu": "B300",
                        "generation": "blackwell",
                        "gpus": 8,
                        "gpuMemoryGb": 288.4,
                        "nvmeGb": 1800,
                    }
                },
                "weights": {"delivery": "nvme", "bucket": {"name": "models"}},
            },
            "weights.delivery",
            # 1,561 + 30 + 107.4 GB of 1,620.
            "= 1,698 GB, and 90 % of the 1,800 GB of NVMe of custom is 1,620 GB",
        ),
        ({"weights": {"folder": "Kimi-K3"}}, "weights.folder", "must name the revision"),
        ({"cluster": {"context": ""}}, "cluster.context", "gpu-cluster"),
        ({"cluster": {"namespace": "Kimi_K3"}}, "cluster.namespace", "pattern"),
        (
            {"exposure": {"certificateSecret": "tls"}},
            "cluster.createNamespace",
            "exposure.certificateSecret must be in",
        ),
        ({"cluster": {"nodes": 0}}, "cluster.nodes", "greater than or equal to 1"),
        ({"replicas": 2}, "replicas", "2 x 1 nodes of 8xB300 = 2 nodes, and there are 1"),
        ({"machine": "p6-b200.48xlarge"}, "replicas", "1 x 8 x 192.27 GB = 1,538 GB of GPU memory"),
        ({"machine": {"custom": {"gpu": "B300"}}}, "machine.custom.gpus", "8"),
        ({"topology": {"tensorParalel": 8}}, "topology.tensorParalel", "topology.tensorParallel"),
    ],
)
def test_fault(changes: dict[str, object], key: str, telling: str) -> None:
    found = faults(**changes)
    assert key in found, found
    assert telling in str(found[key])


def test_an_fp8_cache_of_ones_own_needs_its_attention_configuration() -> None:
    hopper: dict[str, object] = {"machine": "8xH200", "cluster": {"nodes": 2}}
    bare = {**hopper, "serving": {"extraArgs": ["--kv-cache-dtype", "fp8"]}}
    assert "use_prefill_query_quantization" in str(faults(**bare)["serving.extraArgs"])
    config = '{"use_prefill_query_quantization":true}'
    load(values(**hopper, serving={"extraArgs": ["--kv-cache-dtype", "fp8", "--attention-config", config]}))


def test_extra_arguments_that_are_right_are_no_fault() -> None:
    extra = ["--prefix-match-unit", "256", "--kv-cache-dtype=bfloat16", "--max-num-seqs", "64"]
    settings, _ = loaded(serving={"extraArgs": extra})
    (warning,) = estimate_warnings(settings.serving)
    assert "--kv-cache-dtype" in warning


def test_a_missing_key_that_only_the_user_knows_is_named() -> None:
    given = values()
    del given["owner"]
    cluster = given["cluster"]
    assert isinstance(cluster, dict)
    given["cluster"] = {key: entry for key, entry in cluster.items() if key != "context"}
    with pytest.raises(Faulty) as caught:
        load(given)
    assert {fault.key for fault in caught.value.faults} == {"owner", "cluster.context"}
    assert "is not set" in str(caught.value)


def test_an_empty_file_names_everything_that_only_the_user_knows() -> None:
    with pytest.raises(Faulty) as caught:
        load({})
    keys = {fault.key for fault in caught.value.faults}
    assert {"cloud", "machine", "owner", "cluster"} <= keys


def test_zero_and_false_are_values() -> None:
    assert loaded(replicas=0)[1].gpu_nodes == 0
    assert loaded(serve=False)[1].gpu_nodes == 0
    assert loaded(serving={"prefixCaching": False})[0].serving.prefix_caching is False


def test_a_parked_stack_needs_no_nodes_and_costs_nothing() -> None:
    _, plan = loaded(replicas=0, nodes=1)
    assert plan.cost.hourly == (0.0, 0.0)


@pytest.mark.parametrize("nodes", [4, 5])
def test_two_groups_of_two_nodes_fit_on_four_or_more(nodes: int) -> None:
    assert loaded("4xGB300", nodes=nodes, replicas=2)[1].gpu_nodes == 4


def test_two_groups_of_two_nodes_on_three_are_refused_with_the_sum() -> None:
    found = faults(machine="4xGB300", replicas=2, cluster={"nodes": 3})
    assert "2 x 2 nodes of 4xGB300 = 4 nodes, and there are 3" in str(found["replicas"])
    assert found["replicas"].instead == "1"


def test_surge_is_taken_where_there_are_spare_nodes() -> None:
    assert loaded(nodes=2, serving={"rollout": {"maxSurge": 1}})[0].serving.rollout.max_surge == 1


def test_a_value_of_a_bad_key_is_never_a_traceback() -> None:
    assert "machine" in faults(machine=["8xB300"])
    assert "topology" in faults(topology="automatic")
    assert "serving" in faults(serving="fast")


def test_a_custom_machine_is_planned_like_any() -> None:
    custom = {"gpu": "B300", "generation": "blackwell", "gpus": 8, "gpuMemoryGb": 288.4}
    _, plan = loaded(machine={"custom": custom}, nodes=1)  # pyright: ignore[reportArgumentType]
    assert str(plan.layout) == "TP8 on 1 node"


@pytest.mark.parametrize(
    ("raw", "want"),
    [("1", 1), ("true", True), ("8xB300", "8xB300"), ('{"a": [1]}', {"a": [1]}), ("", "")],
)
def test_raw_values_are_read_as_yaml_meant_them(raw: str, want: object) -> None:
    assert decoded(raw) == want


def test_the_project_file_declares_every_key_with_its_default() -> None:
    declared = yaml.safe_load((PROJECT / "Pulumi.yaml").read_text())["config"]
    models = {(field.alias or name): field for model in CLOUDS.values() for name, field in model.model_fields.items()}
    assert set(declared) == {*models, *SECRET_KEYS}
    assert all(entry["description"] for entry in declared.values())
    assert [key for key, entry in declared.items() if "type" not in entry] == ["machine", "topology"]
    empty = {"string": "", "object": {}}
    for key, field in models.items():
        entry = declared[key]
        if field.is_required():
            assert entry["default"] == empty[entry.get("type", "string")], key
        elif entry.get("type") in ("integer", "boolean", "string"):
            assert entry["default"] == ("" if field.default is None else field.default), key
        else:
            # An empty object is the model's own default, and so is the word auto.
            assert entry["default"] in ({}, "auto"), key


def test_the_project_files_defaults_mean_the_models_defaults() -> None:
    declared = yaml.safe_load((PROJECT / "Pulumi.yaml").read_text())["config"]
    defaults = {key: entry["default"] for key, entry in declared.items() if key not in SECRET_KEYS}
    given = values()
    bare, _ = load({key: given[key] for key in ("cloud", "machine", "owner", "weights", "cluster")})
    full, _ = load({**defaults, **{key: given[key] for key in ("cloud", "machine", "owner", "weights", "cluster")}})
    assert isinstance(bare, ExistingSettings)
    assert bare == full
