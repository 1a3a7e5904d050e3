"""The forecast of a cold start: its critical path, what of it bills by the GPU, and the budgets that follow from it."""

import pytest

from components.plan.hardware import CATALOGUE
from components.plan.latency import CLOUDS, boot, usual
from components.plan.model import KIMI_K3
from components.plan.timing import ColdStart, Delivery, Timing, timing
from tests.stacks import loaded

B300 = "p6-b300.48xlarge"


def forecast(cloud: str, machine: str, nodes: int = 1, delivery: Delivery = "nvme", workers: int = 4) -> Timing:
    return timing(ColdStart(cloud=cloud, delivery=delivery, workers=workers), KIMI_K3, CATALOGUE[machine], nodes)


def test_nine_in_ten_stay_below_the_published_factor() -> None:
    assert usual(100).p90 == pytest.approx(140)
    assert boot(100).p90 == pytest.approx(200)
    # exp(2.326348 / 1.281552 * ln 1.4) and the same of ln 2, by hand.
    assert usual(100).p99 == pytest.approx(184.2, abs=0.1)
    assert boot(100).p99 == pytest.approx(351.9, abs=0.1)
    assert usual(0).p90 == 0


def test_on_aws_the_gpus_bill_from_their_boot_to_the_first_token() -> None:
    found = forecast("aws", B300)
    # Boot 180, image 224, load 231, compile 460, init 120; 1,561 GB at 96 Gbit/s take 130 s beside the image.
    assert found.gpus_billed[0] == pytest.approx(180 + 224 + 231 + 460 + 120, rel=0.001)
    # Network 118, EKS 540 and CPU nodes 115 before the copy of 1,561 GB at the hub's 12.8 Gbit/s: 976 s.
    assert found.first_token[0] == pytest.approx(118 + 540 + 115 + 976 + 1215, rel=0.001)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nothing_that_bills_gpus_begins_before_the_weights_are_complete(cloud: str) -> None:
    found = forecast(cloud, B300)
    (typical, slow), names = found.ends(), [phase.name for phase in found.phases]
    billed = [phase for phase in found.phases if phase.bills_gpus]
    assert names.index("weights") < names.index("GPU nodes")
    for ends in (typical, slow):
        assert ends[billed[0].name] >= ends["weights"]
    assert found.gpus_billed < found.first_token


def test_filling_the_bucket_doesnt_wait_for_controllers_and_a_slow_copy_hides_them() -> None:
    with_copy, without = forecast("azure", B300), forecast("azure", B300, workers=0)
    assert with_copy.first_token[0] - without.first_token[0] == pytest.approx(976 - 205, rel=0.01)


@pytest.mark.parametrize(
    ("workers", "cloud", "seconds"),
    [
        pytest.param(1, "aws", 1561, id="one pod hashes 8 Gbit/s"),
        pytest.param(16, "aws", 976, id="the hub gives 12.8 Gbit/s"),
    ],
)
def test_the_slowest_of_pods_hub_and_bucket_decides_the_copy(workers: int, cloud: str, seconds: float) -> None:
    found = forecast(cloud, B300, workers=workers)
    copy = next(phase for phase in found.phases if phase.name == "weights")
    assert copy.takes.median == pytest.approx(seconds, rel=0.001)


def test_nodes_share_what_an_account_may_read() -> None:
    """OSS gives 100 Gbit/s to an account: three nodes get 28 Gbit/s each, at 85 % of a third."""
    three = next(phase for phase in forecast("alicloud", B300, 3, "disk").phases if phase.name == "fetch")
    assert three.takes.median == pytest.approx(1561 * 8 / (0.85 * 100 / 3), rel=0.001)


def test_only_a_copy_to_the_node_has_a_fetch() -> None:
    assert "fetch" in forecast("aws", B300).ends()[0]
    assert "fetch" not in forecast("aws", B300, delivery="stream").ends()[0]


def test_the_engines_budget_outlasts_weights_on_a_slow_file_system() -> None:
    """95 minutes from NFS against a start-up limit of 30 was a restart loop for others: nothing ever got ready."""
    found = forecast("existing", B300, delivery="mounted", workers=0)
    # 1.5 x (5,700 + 1,800 + 120 x 1.842) = 11,582 s, in steps of ten minutes.
    assert found.engine_budget == 12_000
    assert found.await_budget == 13_800


def test_no_budget_is_below_two_hours() -> None:
    # 1.5 x (231 x 1.842 + 1,800 + 221) = 3,670 s.
    assert forecast("aws", B300).engine_budget == 7200
    assert forecast("aws", B300).await_budget == 9000


def test_a_plan_has_its_clouds_forecast() -> None:
    _, plan = loaded()
    assert plan.timing.ends()[0]["network"] == 0
    assert plan.timing.gpus_billed[0] > 0
