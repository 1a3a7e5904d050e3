"""The GCP page says what the program does: its stacks, layouts, checks, objects and figures are the real ones."""

import re
from typing import Final, get_args

import pytest

from components.gcp.inference_gateway import TIMEOUT_SECONDS
from components.gcp.machine_type import TYPES
from components.gcp.settings import Check
from components.stack_file import load
from tests.gcp.stack import A4, GATEWAY, GB200, H100, H200, Changes, only, program
from tests.stacks import PROJECT, values

TEXT: Final = (PROJECT / "docs" / "gcp.md").read_text()
LAYOUTS: Final[dict[str, Changes]] = {
    "a4x-maxgpu-4g-metal": {},
    "a4x-highgpu-4g": GB200,
    "a4-highgpu-8g": A4,
    "a3-ultragpu-8g": H200,
    "a3-megagpu-8g": H100,
}


@pytest.mark.parametrize("machine", TYPES)
def test_its_table_says_how_a_machine_is_planned_and_sold(machine: str) -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{machine}`")]
    _, plan = load(values("gcp", **LAYOUTS[machine]))
    stages = f" x PP{plan.layout.pipeline_parallel}" if plan.layout.pipeline_parallel > 1 else ""
    assert f"{plan.machine.gpus} x {plan.machine.gpu.name} |" in row
    assert f"| {plan.layout.nodes}, TP{plan.layout.tensor_parallel}{stages} |" in row
    joined = {"mnnvl": "NVLink of one rack", "rdma": "RDMA", "tcp": "TCP"}[plan.layout.interconnect]
    assert joined in row
    assert ("flex-start" in row) is TYPES[machine].flex_start


def test_its_commands_name_stacks_that_have_a_file() -> None:
    stacks = set(re.findall(r"(?:-s |STACK=|Pulumi\.)(gcp[a-z-]*)", TEXT))
    assert stacks == {"gcp", "gcp-capacity"}
    assert all((PROJECT / f"Pulumi.{stack}.yaml").is_file() for stack in stacks)


def test_its_links_lead_somewhere() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", TEXT, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert target[1:] in headings if target.startswith("#") else (PROJECT / "docs" / target).is_file(), target


def test_it_names_every_check_that_can_be_left_out() -> None:
    assert [check for check in get_args(Check) if f"`{check}`" not in TEXT] == []


def test_its_figures_are_the_programs() -> None:
    assert f"about {load(values('gcp'))[0].storage_usd_month:.0f} USD a month" in TEXT
    assert TIMEOUT_SECONDS == 3600
    assert "waits an hour for an" in TEXT


def test_what_it_looks_at_has_these_names() -> None:
    mocks = program()
    (group,) = mocks.of("LeaderWorkerSet")
    # The controller calls the leader of the first group so.
    assert f"{group.inputs['metadata']['name']}-0 -c fetch-model" in TEXT
    pod = group.inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    assert [container["name"] for container in pod["initContainers"]] == ["fetch-model"]
    daemon = only(mocks.of("DaemonSet"), "drivers-asapd-lite").inputs["metadata"]
    assert f"kubectl get daemonset -n {daemon['namespace']} {daemon['name']}" in TEXT


def test_the_outputs_that_it_reads_are_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    exported: set[str] = set()
    monkeypatch.setattr("pulumi.export", lambda name, value: exported.add(name))
    program(GATEWAY)
    assert set(re.findall(r"stack output (\w+)", TEXT)) <= exported
    assert "gatewayEndpoint" in exported
    assert "`gatewayEndpoint`" in TEXT
