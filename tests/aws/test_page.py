"""The AWS page says what the program does: its files, stacks, checks, outputs and figures are the real ones."""

import re
from typing import Final, get_args

import pytest

from components.aws.capacity_reservation import SCALE_DOWN
from components.aws.load_balancer_controller import ALB_IDLE_SECONDS, NLB_IDLE_SECONDS
from components.aws.settings import Check
from components.plan.hardware import CATALOGUE
from components.stack_file import load
from tests.aws.stack import PAIR, program
from tests.stacks import PROJECT, values

PAGE: Final = PROJECT / "docs" / "aws.md"
TEXT: Final = PAGE.read_text()
HEADINGS = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
ANCHORS = {re.sub(r"[^a-z ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADINGS}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", TEXT))))
def test_a_link_leads_somewhere(target: str) -> None:
    if target.startswith("#"):
        assert target[1:] in ANCHORS
    else:
        assert (PAGE.parent / target).is_file()


def test_its_commands_name_stacks_that_have_a_file() -> None:
    stacks = set(re.findall(r"(?:-s|STACK=|stack init) ?(aws[a-z-]*)", TEXT))
    assert stacks == {"aws", "aws-capacity"}
    assert all((PROJECT / f"Pulumi.{stack}.yaml").is_file() for stack in stacks)


def test_it_names_every_check_that_can_be_left_out() -> None:
    assert [check for check in get_args(Check) if f"`{check}`" not in TEXT] == []


@pytest.mark.parametrize("machine", [name for name, machine in CATALOGUE.items() if machine.cloud == "aws"])
def test_its_table_says_how_a_machine_is_planned(machine: str) -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{machine}`")]
    layout = load(values("aws", **{**PAIR, "machine": machine}))[1].layout
    stages = f" x PP{layout.pipeline_parallel}" if layout.pipeline_parallel > 1 else ""
    assert f"| {layout.nodes}, TP{layout.tensor_parallel}{stages} |" in row


def test_its_figures_are_the_programs() -> None:
    assert f"{SCALE_DOWN.seconds // 60} minutes before its end" in TEXT
    assert f"{NLB_IDLE_SECONDS:,} seconds" in TEXT
    assert f"{ALB_IDLE_SECONDS:,}" in TEXT
    assert f"about {load(values('aws'))[0].storage_usd_month:.0f} USD a month" in TEXT


def test_the_pods_that_it_looks_at_have_these_names() -> None:
    (group,) = program().of("LeaderWorkerSet")
    # The controller calls the leader of the first group so.
    assert f"{group.inputs['metadata']['name']}-0 -c fetch-model" in TEXT
    pod = group.inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    assert "fetch-model" in [container["name"] for container in pod["initContainers"]]
    (job,) = program().of("Job")
    assert job.inputs["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] == "weights"
