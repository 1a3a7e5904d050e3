from collections import Counter
from dataclasses import FrozenInstanceError
from datetime import date

import pytest

from components.plan import hardware
from components.plan.hardware import CATALOGUE, GPUS, Gpu, Machine, nearest

FLOOR_GB = 1_680  # vram_minimum_gb of vLLM's Kimi K3 recipe
GRACE_GPUS = {"GB200", "GB300"}
MACHINES = [pytest.param(machine, id=machine.name) for machine in CATALOGUE.values()]
PRICED = [pytest.param(machine, id=machine.name) for machine in CATALOGUE.values() if machine.price]


@pytest.mark.parametrize(
    ("name", "want"),
    [
        # MiB that the driver prints x 1,048,576 / 10^9, worked out by hand.
        ("B300", 288.40),  # 275,040
        ("GB300", 298.01),  # 284,208
        ("B200", 192.27),  # 183,359
        ("GB200", 198.67),  # 189,471
        ("H200", 150.75),  # 143,771
        ("H20-3e", 150.75),
        ("H100", 85.52),  # 81,559
        ("H20", 102.63),  # 97,871
        ("MI355X", 309.22),  # 294,896
    ],
)
def test_gpu_memory_is_decimal_gb_of_what_the_driver_reports(name: str, want: float) -> None:
    assert GPUS[name].memory_gb == pytest.approx(want, abs=0.001)


@pytest.mark.parametrize(
    ("name", "want"),
    [("B300", 288), ("GB300", 288), ("B200", 180), ("GB200", 192), ("H200", 141), ("H100", 80), ("H20", 96)],
)
def test_marketed_memory_is_the_figure_of_the_data_sheet(name: str, want: int) -> None:
    assert GPUS[name].marketed_gb == want


@pytest.mark.parametrize("gpu", [pytest.param(gpu, id=gpu.name) for gpu in GPUS.values()])
def test_no_gpu_reports_less_or_much_more_than_it_is_sold_with(gpu: Gpu) -> None:
    gib_over_gb = 2**30 / 10**9
    assert gpu.marketed_gb <= gpu.memory_gb <= gpu.marketed_gb * gib_over_gb


@pytest.mark.parametrize(
    ("machine", "nodes", "fits"),
    [
        ("8xB200", 1, False),
        ("8xH200", 1, False),
        ("4xGB200", 2, False),
        ("ecs.ebmgn8v.48xlarge", 2, False),
        ("8xB300", 1, True),
        ("p6-b300.48xlarge", 1, True),
        ("8xMI355X", 1, True),
        ("4xGB300", 2, True),
        ("a4x-maxgpu-4g-metal", 2, True),
        ("8xH200", 2, True),
        ("8xB200", 2, True),
        ("ecs.ebmgn8v.48xlarge", 3, True),
        ("8xH100", 4, True),
    ],
)
def test_the_memory_floor_of_the_recipe_decides_like_this(machine: str, nodes: int, fits: bool) -> None:
    assert (CATALOGUE[machine].memory_gb * nodes >= FLOOR_GB) is fits


@pytest.mark.parametrize(
    ("name", "want"), [("H100", 32), ("H200", 16), ("B200", 16), ("GB200", 16), ("B300", 0), ("MI355X", 0)]
)
def test_the_recipe_floor_counts_gpus_where_memory_alone_would_admit_fewer(name: str, want: int) -> None:
    assert GPUS[name].minimum_gpus == want


def test_catalogue_keys_equal_the_names() -> None:
    assert [key for key, machine in CATALOGUE.items() if key != machine.name] == []


def test_no_machine_is_named_twice() -> None:
    names = Counter(machine.name.casefold() for machine in hardware._MACHINES)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_machine_of_the_catalogue_uses_a_gpu_that_a_custom_machine_can_name() -> None:
    assert {machine.gpu.name: machine.gpu for machine in CATALOGUE.values()} == dict(GPUS)


@pytest.mark.parametrize(
    ("cloud", "want"),
    [
        ("aws", {"p6-b300.48xlarge", "p6-b200.48xlarge", "p5en.48xlarge", "p5.48xlarge"}),
        (
            "azure",
            {"Standard_ND128isr_GB300_v6", "Standard_ND128isr_NDR_GB200_v6", "Standard_ND96isr_H200_v5"},
        ),
        (
            "gcp",
            {
                "a4x-maxgpu-4g-metal",
                "a4x-highgpu-4g",
                "a4-highgpu-8g",
                "a3-ultragpu-8g",
                "a3-megagpu-8g",
            },
        ),
        ("alicloud", {"ecs.ebmgn8v.48xlarge", "ecs.gn8v-8x.48xlarge", "ecs.gn8v-8x.16xlarge", "GX8SF"}),
        ("any", {"8xB300", "8xB200", "8xH200", "8xH100", "8xMI355X", "4xGB300", "4xGB200"}),
    ],
)
def test_each_cloud_offers_the_candidates_of_the_guide(cloud: str, want: set[str]) -> None:
    assert want <= {machine.name for machine in CATALOGUE.values() if machine.cloud == cloud}


@pytest.mark.parametrize("machine", MACHINES)
def test_counts_are_possible(machine: Machine) -> None:
    assert machine.gpus in {1, 2, 4, 8}
    assert machine.nvlink_domain >= machine.gpus
    assert machine.vcpus >= 64
    assert machine.network_gbps > 0
    assert machine.nvme_gb >= 0


@pytest.mark.parametrize("machine", MACHINES)
def test_host_memory_is_at_least_what_the_smallest_candidate_has(machine: Machine) -> None:
    assert 768 * 2**30 // 10**9 <= machine.ram_gb <= 4_096 * 2**30 // 10**9


@pytest.mark.parametrize("machine", MACHINES)
def test_fabric_has_bandwidth_exactly_when_there_is_one(machine: Machine) -> None:
    assert (machine.fabric_gbps > 0) is (machine.fabric != "none")


@pytest.mark.parametrize("machine", MACHINES)
def test_arm64_exactly_for_the_grace_machines(machine: Machine) -> None:
    assert (machine.architecture == "arm64") is (machine.gpu.name in GRACE_GPUS)


@pytest.mark.parametrize("machine", MACHINES)
def test_nvlink_leaves_the_node_only_in_nvl72_racks(machine: Machine) -> None:
    grace = machine.gpu.name in GRACE_GPUS
    assert machine.nvlink_domain == (72 if grace else machine.gpus)
    assert machine.multi_node_nvlink is grace


@pytest.mark.parametrize("machine", MACHINES)
def test_amd_gpus_are_requested_by_amds_resource_name(machine: Machine) -> None:
    assert machine.gpu_resource == ("amd.com/gpu" if machine.gpu.generation == "cdna4" else "nvidia.com/gpu")


@pytest.mark.parametrize("machine", MACHINES)
def test_local_nvme_holds_the_weights_or_is_absent(machine: Machine) -> None:
    assert machine.nvme_gb == 0 or machine.nvme_gb >= 2 * 1_561


@pytest.mark.parametrize("machine", PRICED)
def test_price_is_a_range_with_a_source_and_a_day(machine: Machine) -> None:
    assert machine.price is not None
    assert 0 < machine.price.low <= machine.price.high
    assert machine.price.source
    assert date.fromisoformat(machine.price.checked) >= date(2026, 7, 1)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_missing_price_is_said_in_the_notes(machine: Machine) -> None:
    assert (machine.price is None) is any("no public price" in note for note in machine.notes)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("p6-b300.48xlarge", (112.32, 142.416)),
        ("p6-b200.48xlarge", (98.84, 113.93)),
        ("p5en.48xlarge", (54.92, 63.296)),
        ("Standard_ND128isr_NDR_GB200_v6", (108.16, 108.16)),
        ("a4-highgpu-8g", (64.44, 128.88)),
        ("8xB300", (59.0, 142.0)),
        ("8xH200", (31.92, 80.0)),  # 46,600 and 116,800 USD a month / 2 nodes / 730 hours
        ("4xGB200", (42.0, 108.16)),
    ],
)
def test_prices_are_those_of_the_sources(name: str, want: tuple[float, float]) -> None:
    price = CATALOGUE[name].price
    assert price is not None
    assert (price.low, price.high) == want


@pytest.mark.parametrize("name", ["Standard_ND128isr_GB300_v6", "a4x-maxgpu-4g-metal", "ecs.ebmgn8v.48xlarge"])
def test_machines_that_sales_prices_have_none(name: str) -> None:
    assert CATALOGUE[name].price is None


@pytest.mark.parametrize("machine", MACHINES)
def test_gpus_that_the_recipe_did_not_verify_are_called_so(machine: Machine) -> None:
    unverified = machine.gpu.name in {"H20", "H20-3e", "H100"}
    assert any("is not among the GPUs" in note for note in machine.notes) is unverified


def test_node_totals_multiply_one_gpu() -> None:
    machine = CATALOGUE["p6-b300.48xlarge"]
    assert (machine.memory_gb, machine.marketed_gb) == (2_307.2, 2_304)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        # GiB of the vendor's page x 2^30 / 10^9, rounded down.
        ("p6-b300.48xlarge", 4_398),
        ("Standard_ND128isr_GB300_v6", 927),
        ("ecs.gn8v-8x.16xlarge", 824),
    ],
)
def test_host_memory_is_decimal_too(name: str, want: int) -> None:
    assert CATALOGUE[name].ram_gb == want


@pytest.mark.parametrize(
    ("typed", "want"),
    [
        ("p6-b300.48xlrge", "p6-b300.48xlarge"),
        ("ml.p6-b300.48xlarge", "p6-b300.48xlarge"),
        ("standard_nd128isr_gb300_v6", "Standard_ND128isr_GB300_v6"),
        ("a4x-maxgpu-4g", "a4x-maxgpu-4g-metal"),
        ("8xb300", "8xB300"),
    ],
)
def test_a_misspelt_type_finds_the_right_one(typed: str, want: str) -> None:
    assert nearest(typed)[0] == want


def test_an_incomplete_type_finds_its_sizes() -> None:
    assert {"ecs.gn8v-8x.48xlarge", "ecs.gn8v-8x.16xlarge"} <= set(nearest("ecs.gn8v-8x"))


def test_a_name_that_resembles_nothing_finds_nothing() -> None:
    assert nearest("tpu") == []


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        CATALOGUE["mine"] = CATALOGUE["8xB300"]  # pyright: ignore[reportIndexIssue] - that is the test
    with pytest.raises(FrozenInstanceError):
        CATALOGUE["8xB300"].gpus = 16  # pyright: ignore[reportAttributeAccessIssue] - that is the test
