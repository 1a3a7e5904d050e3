"""What joins the GPUs of several nodes: compute domains, bare-metal adapters, the plugin of NCCL, and claims."""

from typing import Any

import pytest

from components.gcp import host_daemons
from components.settings import Mirror
from tests.conftest import Mocks
from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import A4, GB200, H100, H200, Changes, engine, engine_pod, environment, only, program

MIRROR: Changes = {"mirror": {"images": "registry.example.com/mirror", "charts": "oci://registry.example.com/charts"}}
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
ARM = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
RACKS: Changes = {
    "topology": {"interconnect": "rdma"},
    "capacity": {"subBlock": None},
    "serving": {"image": "registry.example.com/vllm-doca:0.33.0"},
}


def daemon(mocks: Mocks, name: str) -> Any:
    """Return the pod of a DaemonSet."""
    return only(mocks.of("DaemonSet"), f"drivers-{name}").inputs["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, {"namespace", "quota", "dra-driver-nvidia-gpu", "asapd-lite"}),
        (GB200, {"namespace", "quota", "dra-driver-nvidia-gpu"}),
        (RACKS, {"asapd-lite", "gpu-network"}),
        (A4, {"nccl-plugin", "gpu-network"}),
        (H200, {"nccl-plugin", "gpu-network"}),
        (H100, set()),
    ],
)
def test_each_layout_has_its_own_parts(changes: Changes, parts: set[str]) -> None:
    mocks = program(changes)
    found = {each.name.removeprefix("drivers-") for each in mocks.resources if each.name.startswith("drivers-")}
    assert found == parts


def test_the_driver_of_compute_domains_finds_gkes_driver_and_leaves_the_gpus_to_the_device_plugin() -> None:
    release = only(program().of("Release"), "drivers-dra-driver-nvidia-gpu").inputs
    assert (release["chart"], release["version"]) == (
        "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
        "0.5.0",
    )
    values = release["values"]
    # With the chart's own "/" it never starts on GKE (modelplane #229); with GPUs on it refuses to be installed.
    assert values["nvidiaDriverRoot"] == "/home/kubernetes/bin/nvidia"
    assert values["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert values["kubeletPlugin"]["tolerations"] == [GPU, ARM]
    (term,) = values["kubeletPlugin"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": ["nvidia-gb300"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
    ]


@pytest.mark.parametrize(("changes", "pods"), [({}, "5"), (GB200, "9"), ({"replicas": 3}, "13")])
def test_critical_pods_outside_kube_system_have_the_quota_without_which_gke_admits_none(
    changes: Changes, pods: str
) -> None:
    # Two a node and one controller: 2 x 2 + 1, 2 x 4 + 1, 2 x 6 + 1.
    mocks = program(changes, GcpAnswers(machine=str(changes.get("machine", "a4x-maxgpu-4g-metal")), healthy=18))
    (quota,) = mocks.of("ResourceQuota")
    assert quota.inputs["spec"]["hard"] == {"pods": pods}
    (scope,) = quota.inputs["spec"]["scopeSelector"]["matchExpressions"]
    assert scope["values"] == ["system-node-critical", "system-cluster-critical"]
    assert quota.inputs["metadata"]["namespace"] == "dra-driver-nvidia-gpu"
    assert "drivers-quota" in mocks.before(only(mocks.of("Release"), "drivers-dra-driver-nvidia-gpu"))


def test_the_program_of_bare_metal_adapters_is_pinned_and_asks_for_the_huge_pages() -> None:
    mocks = program()
    pod = daemon(mocks, "asapd-lite")
    (container,) = pod["containers"]
    assert container["image"] == "us-docker.pkg.dev/gce-ai-infra/asapd-lite/asapd-lite:v0.0.8"
    # 8192 MiB = 4096 pages of 2 MiB, as many as a node sets aside.
    assert container["resources"]["limits"] == {"hugepages-2Mi": "8192Mi", "memory": "1024Mi"}
    assert pod["nodeSelector"] == {"node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal"}
    assert (pod["hostNetwork"], pod["tolerations"]) == (True, [{"operator": "Exists"}])
    metadata = only(mocks.of("DaemonSet"), "drivers-asapd-lite").inputs["metadata"]
    # In kube-system critical pods need no quota; and there is no node yet whose pod could be waited for.
    assert metadata["namespace"] == "kube-system"
    assert metadata["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_every_mount_of_a_daemon_has_its_volume() -> None:
    for manifest in (host_daemons.asapd_lite("m", Mirror()), host_daemons.nccl_plugin("a", Mirror())):
        spec: Any = manifest["spec"]
        pod = spec["template"]["spec"]
        volumes = [volume["name"] for volume in pod["volumes"]]
        assert len(set(volumes)) == len(volumes)
        assert {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]} == set(volumes)


def test_pods_of_a_rack_claim_a_channel_and_no_adapter() -> None:
    mocks = program()
    # Google's own test of NVLink between nodes claims nothing else; an adapter would need libraries in the image.
    for role in ("leader", "worker"):
        claims = engine_pod(mocks, role)["resourceClaims"]
        assert claims == [{"name": "imex", "resourceClaimTemplateName": "kimi-k3-imex"}]
    assert engine(mocks)["resources"]["claims"] == [{"name": "imex"}]
    assert "IPC_LOCK" not in str(engine(mocks)["securityContext"])


@pytest.mark.parametrize("changes", [A4, H200, RACKS])
def test_pods_that_talk_over_rdma_claim_all_adapters_of_their_node(changes: Changes) -> None:
    mocks = program(changes)
    (template,) = mocks.of("ResourceClaimTemplate")
    assert template.type == "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
    assert template.inputs["metadata"]["namespace"] == "kimi-k3"
    (request,) = template.inputs["spec"]["spec"]["devices"]["requests"]
    wanted = {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": 8}
    assert request["exactly"] == wanted
    for role in ("leader", "worker"):
        claims = engine_pod(mocks, role)["resourceClaims"]
        assert claims == [{"name": "network", "resourceClaimTemplateName": "gpu-network"}]
    assert engine(mocks)["resources"]["claims"] == [{"name": "network"}]
    # Registering memory with an adapter pins it.
    assert engine(mocks)["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    # And nobody sees by itself that NCCL has fallen back to TCP.
    assert environment(mocks)["NCCL_DEBUG_SUBSYS"] == "INIT,NET"


@pytest.mark.parametrize(("changes", "tuner"), [(A4, "tuner_config_a4.txtpb"), (H200, "tuner_config_a3u.txtpb")])
def test_nccl_uses_googles_plugin_with_the_machines_own_tuning(changes: Changes, tuner: str) -> None:
    mocks = program(changes)
    told = environment(mocks)
    assert (told["NCCL_NET"], told["NCCL_TUNER_CONFIG_PATH"]) == ("gIB", f"/usr/local/gib/configs/{tuner}")
    assert told["LD_LIBRARY_PATH"].split(":") == [
        "/usr/local/gib/lib64",
        "/usr/local/nvidia/lib64",
        "/usr/local/cuda/lib64",
    ]
    folders = {volume["hostPath"]["path"]: volume for volume in engine_pod(mocks)["volumes"] if "hostPath" in volume}
    # Directory: the pod waits until the plugin is there, instead of starting without it.
    assert folders["/home/kubernetes/bin/gib"]["hostPath"]["type"] == "Directory"
    mounts = {mount["name"]: mount["mountPath"] for mount in engine(mocks)["volumeMounts"]}
    assert mounts[folders["/home/kubernetes/bin/gib"]["name"]] == "/usr/local/gib"


def test_the_plugin_appears_on_a_node_whole_or_not_at_all() -> None:
    pod = daemon(program(A4), "nccl-plugin")
    assert pod["nodeSelector"] == {"cloud.google.com/gke-accelerator": "nvidia-b200"}
    (container,) = pod["containers"]
    assert container["image"].endswith("nccl-plugin-gib:v1.1.2")
    script = container["command"][-1]
    assert script.index("cp -r /var/lib/gib /node/gib.new") < script.index("mv /node/gib.new /node/gib")


@pytest.mark.parametrize("changes", [{}, GB200, A4, H100])
def test_the_engine_finds_the_driver_where_gke_keeps_it(changes: Changes) -> None:
    mocks = program(changes)
    assert "/usr/local/nvidia/lib64" in environment(mocks)["LD_LIBRARY_PATH"].split(":")
    folders = {v["name"]: v["hostPath"]["path"] for v in engine_pod(mocks, "worker")["volumes"] if "hostPath" in v}
    mounts = {mount["mountPath"]: folders.get(mount["name"]) for mount in engine(mocks)["volumeMounts"]}
    assert mounts["/usr/local/nvidia"] == "/home/kubernetes/bin/nvidia"


def test_layouts_without_googles_plugin_are_told_nothing_of_it() -> None:
    for changes in ({}, GB200, H100):
        told = environment(program(changes))
        assert "NCCL_NET" not in told
        assert "gib" not in told["LD_LIBRARY_PATH"]


@pytest.mark.parametrize("changes", [{}, A4])
def test_a_closed_network_gets_every_image_and_chart_from_its_mirror(changes: Changes) -> None:
    mocks = program({**changes, **MIRROR})
    images = [
        each["image"]
        for daemon in mocks.of("DaemonSet")
        for each in daemon.inputs["spec"]["template"]["spec"]["containers"]
    ]
    assert images
    assert all(image.startswith("registry.example.com/mirror/") for image in images)
    assert all(each.inputs["chart"].startswith("oci://registry.example.com/charts/") for each in mocks.of("Release"))
    for each in mocks.of("Release"):
        if each.name == "drivers-dra-driver-nvidia-gpu":
            assert each.inputs["values"]["image"]["repository"].startswith(
                "registry.example.com/mirror/registry.k8s.io/"
            )


def test_a_compute_domain_has_no_number_of_nodes_to_be_wrong_about() -> None:
    # Deprecated, and a wrong one leaves pods in ContainerCreating (dra-driver-nvidia-gpu #364, #368).
    (domain,) = program().of("ComputeDomain")
    assert domain.inputs["spec"]["numNodes"] == 0
