"""The canonical arguments: what the recipe says, and that the pinned engine's parser takes all that a plan can emit."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.faults import Faulty
from components.inference_cluster import Weights
from components.plan.hardware import CATALOGUE
from components.serving.arguments import Role, arguments
from components.serving.environment import environment, variables
from tests.serving import engine_table
from tests.stacks import loaded

ON_DISK = Weights(location="/models/k3", draft_location="/models/draft")
STREAMED = Weights(location="s3://models/k3", draft_location="s3://models/draft")
CLAIM = {"delivery": "mounted", "path": "/models"}


def emitted(role: Role = "leader", weights: Weights = ON_DISK, **stack: object) -> list[str]:
    """Return the arguments of a stack."""
    checked, plan = loaded(**stack)  # pyright: ignore[reportArgumentType]
    return arguments(plan, checked.serving, weights, role)


def exported(weights: Weights = ON_DISK, **stack: object) -> dict[str, str]:
    """Return the literal environment of a stack."""
    checked, plan = loaded(**stack)  # pyright: ignore[reportArgumentType]
    return variables(plan, checked.serving, weights)


def value(found: list[str], flag: str) -> str:
    """Return the value after a flag that is there once."""
    assert found.count(flag) == 1, found
    return found[found.index(flag) + 1]


def test_one_node_of_eight_b300_gets_the_recipe() -> None:
    # https://recipes.vllm.ai/moonshotai/Kimi-K3, single_node_tp on b300, with the flags of the frontend.
    attention = '{"use_prefill_query_quantization":true,"mla_prefill_backend":"flashinfer"}'
    want = (
        "/models/k3 --served-model-name Kimi-K3 --trust-remote-code --enable-auto-tool-choice"
        " --tool-call-parser kimi_k3 --reasoning-parser kimi_k3 --tensor-parallel-size 8"
        " --gpu-memory-utilization 0.95 --max-model-len 1048576 --no-enable-flashinfer-autotune"
        f" --kv-cache-dtype fp8 --attention-config {attention} --load-format fastsafetensors"
        " --enable-prefix-caching --prefix-match-unit 128 --host 0.0.0.0 --port 8000 --shutdown-timeout 120"
    )
    assert emitted() == want.split(" ")


def test_two_trays_join_by_rank_and_only_the_leader_has_the_api() -> None:
    leader, worker = emitted("leader", machine="4xGB300"), emitted("worker", machine="4xGB300")
    for found in (leader, worker):
        assert value(found, "--nnodes") == "2"
        assert value(found, "--tensor-parallel-size") == "8"
        assert value(found, "--distributed-executor-backend") == "mp"
        assert value(found, "--master-addr") == "$(LWS_LEADER_ADDRESS)"
        assert int(value(found, "--distributed-timeout-seconds")) >= 3600
        assert int(value(found, "--cpu-distributed-timeout-seconds")) >= 3600
    assert value(leader, "--node-rank") == "0"
    assert value(worker, "--node-rank") == "$(LWS_WORKER_INDEX)"
    assert "--headless" in worker
    assert "--headless" not in leader
    assert not {"--port", "--host", "--shutdown-timeout"} & set(worker)


def test_leader_and_worker_differ_in_rank_and_frontend_flags_alone() -> None:
    own = {"--node-rank", "0", "$(LWS_WORKER_INDEX)", "--headless", "--host", "0.0.0.0", "--port", "8000"}
    own |= {"--shutdown-timeout", "120"}
    leader, worker = emitted("leader", machine="8xH200"), emitted("worker", machine="8xH200")
    assert [word for word in leader if word not in own] == [word for word in worker if word not in own]


def test_hopper_gets_its_own_profile() -> None:
    found = emitted(machine="8xH200")
    assert value(found, "--pipeline-parallel-size") == "2"
    assert value(found, "--moe-backend") == "marlin"
    assert value(found, "--attention-backend") == "FLASHMLA"
    assert "--disable-custom-all-reduce" in found
    assert "--kv-cache-dtype" not in found
    assert "--attention-config" not in found


def test_padded_hopper_keeps_the_recipes_caps_and_loads_without_staging() -> None:
    found = emitted(machine="p5en.48xlarge", topology={"tensorParallel": 16})
    assert value(found, "--max-model-len") == "32768"
    assert value(found, "--max-num-seqs") == "5"
    assert value(found, "--gpu-memory-utilization") == "0.97"
    # 139.9 GB of weights and one staged shard of 16.3 GB don't fit into 146.2 GB.
    assert value(found, "--load-format") == "auto"


def test_shards_load_one_by_one_where_two_dont_fit_beside_the_weights() -> None:
    assert "VLLM_FASTSAFETENSORS_QUEUE_SIZE" not in exported()
    # 139.9 + 2 x 16.3 = 172.4 GB of 182.7; with the draft model 149.4 + 32.5 = 181.9: both fit on a B200.
    assert "VLLM_FASTSAFETENSORS_QUEUE_SIZE" not in exported(machine="a4-highgpu-8g", topology={"tensorParallel": 16})
    # 53.3 + 32.5 = 85.8 GB of 81.2 don't, 53.3 + 16.3 do.
    assert exported(machine="p5.48xlarge")["VLLM_FASTSAFETENSORS_QUEUE_SIZE"] == "-1"


@pytest.mark.parametrize("uri", ["s3://models/k3", "gs://models/k3", "az://models/k3"])
def test_a_bucket_is_streamed_once_a_node_and_never_read_by_a_file_loader(uri: str) -> None:
    weights = Weights(location=uri, draft_location=f"{uri}/draft")
    found = emitted(weights=weights)
    assert found[0] == uri
    assert value(found, "--load-format") == "runai_streamer"
    assert json.loads(value(found, "--model-loader-extra-config"))["distributed"] is True


def test_instanttensor_reads_a_path() -> None:
    weights = Weights(location="/models/k3", draft_location="/models/draft", loader="instanttensor")
    assert value(emitted(weights=weights), "--load-format") == "instanttensor"


@pytest.mark.parametrize("machine", ["p6-b200.48xlarge", "8xH200"])
def test_no_fused_all_reduce_where_nodes_arent_one_nvlink_domain(machine: str) -> None:
    assert json.loads(value(emitted(machine=machine), "--compilation-config")) == {
        "pass_config": {"fuse_allreduce_rms": False}
    }
    assert exported(machine=machine)["VLLM_ALLREDUCE_USE_FLASHINFER"] == "0"


def test_nvlink_between_nodes_is_switched_on_and_nothing_taken_away() -> None:
    found = exported(machine="4xGB300")
    assert found["NCCL_MNNVL_ENABLE"] == "1"
    assert found["NCCL_CUMEM_ENABLE"] == "1"
    assert "--compilation-config" not in emitted(machine="4xGB300")


def test_the_gemm_kernel_is_off_where_a_tensor_group_crosses_nvlink_domains() -> None:
    assert exported(machine="a4-highgpu-8g", topology={"tensorParallel": 16})["VLLM_KIMI_K3_GEMM_AR"] == "0"
    assert "VLLM_KIMI_K3_GEMM_AR" not in exported(machine="a4-highgpu-8g")


@pytest.mark.parametrize("machine", ["4xGB300", "8xH200", "p6-b200.48xlarge"])
def test_both_socket_interfaces_are_set_on_every_rank(machine: str) -> None:
    found = exported(machine=machine)
    assert found["GLOO_SOCKET_IFNAME"] == found["NCCL_SOCKET_IFNAME"] == "eth0"


def test_on_the_hosts_network_the_given_interfaces_are_used() -> None:
    serving = {"hostNetwork": True, "socketInterface": "^docker0,lo"}
    found = exported(machine="8xH200", serving=serving)
    assert found["GLOO_SOCKET_IFNAME"] == found["NCCL_SOCKET_IFNAME"] == "^docker0,lo"


def test_the_preview_images_variable_is_set_for_that_image_alone() -> None:
    name = "VLLM_ENABLE_K3_LATENT_MOE_TAIL_FUSION"
    assert name not in exported()
    assert exported(serving={"image": "vllm/vllm-openai:kimi-k3"})[name] == "1"


def test_the_draft_model_and_text_only() -> None:
    found = emitted(serving={"speculativeDecoding": True, "textOnly": True})
    draft = json.loads(value(found, "--speculative-config"))
    assert draft["model"] == "/models/draft"
    assert draft["num_speculative_tokens"] == 8
    assert "--language-model-only" in found


def test_prefix_caching_can_be_switched_off() -> None:
    found = emitted(serving={"prefixCaching": False})
    assert "--no-enable-prefix-caching" in found
    assert not {"--enable-prefix-caching", "--prefix-match-unit"} & set(found)


def test_offload_is_the_sum_over_the_ranks() -> None:
    assert value(emitted(serving={"kvOffloadGibPerRank": 64}), "--kv-offloading-size") == str(8 * 64)


def test_extra_arguments_win_last_and_once() -> None:
    extra = ["--gpu-memory-utilization=0.9", "--enable-flashinfer-autotune", "--max-num-seqs", "64"]
    found = emitted(serving={"extraArgs": extra})
    assert found[-4:] == extra
    assert not {"--gpu-memory-utilization", "--no-enable-flashinfer-autotune", "0.95"} & set(found)


def test_extra_variables_win_last() -> None:
    assert (
        exported(serving={"extraEnv": {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "60"}})["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"] == "60"
    )


def test_the_engines_own_limit_is_longer_than_a_start() -> None:
    assert int(exported()["VLLM_ENGINE_READY_TIMEOUT_S"]) >= 3600


def test_the_key_reaches_the_leader_by_reference_and_no_worker() -> None:
    for role, want in (("leader", True), ("worker", False)):
        found = environment({}, ON_DISK, [], "leader" if role == "leader" else "worker", "kimi-k3-api-key")
        entries = {str(entry["name"]): entry for entry in found}
        assert ("VLLM_API_KEY" in entries) is want
        assert "value" not in entries.get("VLLM_API_KEY", {})
        assert entries["VLLM_HOST_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


@given(
    machine=st.sampled_from(sorted(CATALOGUE)),
    weights=st.sampled_from((ON_DISK, STREAMED)),
    role=st.sampled_from(("leader", "worker")),
    topology=st.sampled_from(({}, {"interconnect": "tcp"}, {"tensorParallel": 16}, {"expertParallel": True})),
    draft=st.booleans(),
    prefix=st.booleans(),
    text=st.booleans(),
    offload=st.sampled_from((0, 16)),
)
@settings(max_examples=300, deadline=None)
def test_the_engine_knows_every_argument_and_variable(
    machine: str,
    weights: Weights,
    role: Role,
    topology: dict[str, object],
    draft: bool,
    prefix: bool,
    text: bool,
    offload: int,
) -> None:
    serving = {
        "speculativeDecoding": draft,
        "prefixCaching": prefix,
        "textOnly": text,
        "kvOffloadGibPerRank": offload,
    }
    try:
        checked, plan = loaded(machine=machine, topology=topology, serving=serving)
    except Faulty:
        return
    found = arguments(plan, checked.serving, weights, role, tls=True)
    assert engine_table.faults(found, variables(plan, checked.serving, weights)) == []
