"""The Node objects, without a control plane."""

from rehearsal.control_plane import nodes

MACHINE = nodes.Machine(
    architecture="arm64",
    cpu=144,
    memory_gb=900,
    ephemeral_storage_gb=12_000,
    extended={"vpc.amazonaws.com/efa": 16},
    labels={"topology.kubernetes.io/zone": "us-east-1a"},
    taints=[nodes.Taint(key="nvidia.com/gpu", value="present")],
)


def test_a_gpu_node_offers_what_the_machine_has() -> None:
    node = nodes.gpu_node("gb300-0", MACHINE, gpus=4)
    assert node["status"]["allocatable"] == {
        "cpu": "144",
        "memory": "900G",
        "ephemeral-storage": "12000G",
        "pods": "110",
        "nvidia.com/gpu": "4",
        "vpc.amazonaws.com/efa": "16",
    }


def test_another_vendors_gpus_have_their_own_resource() -> None:
    node = nodes.gpu_node("mi355x-0", MACHINE, gpus=8, gpu_resource="amd.com/gpu")
    assert node["status"]["capacity"]["amd.com/gpu"] == "8"
    assert "nvidia.com/gpu" not in node["status"]["capacity"]


def test_labels_are_the_kubelets_and_the_machines() -> None:
    assert nodes.gpu_node("gb300-0", MACHINE, gpus=4)["metadata"]["labels"] == {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "gb300-0",
        "topology.kubernetes.io/zone": "us-east-1a",
    }


def test_taints_have_the_apis_shape() -> None:
    got = nodes.gpu_node("gb300-0", MACHINE, gpus=4)["spec"]["taints"]
    assert got == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_a_plain_node_has_neither_gpus_nor_taints() -> None:
    node = nodes.cpu_node("cpu-0")
    assert set(node["status"]["capacity"]) == {"cpu", "memory", "ephemeral-storage", "pods"}
    assert node["spec"]["taints"] == []
