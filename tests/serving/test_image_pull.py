"""The engine's image comes beside the weights, onto exactly the nodes that will run it."""

from typing import Any

import kubernetes_validate

from tests.conftest import Mocks, run_program
from tests.stacks import values

NVME: dict[str, Any] = {
    "weights": {
        "delivery": "nvme",
        "path": "/mnt/nvme/9f62e4e9fffbd0a83ddd60e1c209d828994b3569",
        "bucket": {"name": "weights", "endpoint": "https://s3.example.com"},
        "claim": None,
    }
}


def pullers(mocks: Mocks) -> list[dict[str, Any]]:
    return [dict(each.inputs["spec"]) for each in mocks.of("DaemonSet") if each.name.endswith("-image")]


def engine(mocks: Mocks) -> dict[str, Any]:
    (group,) = mocks.of("LeaderWorkerSet")
    return group.inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]


def test_the_image_is_pulled_where_the_engine_will_run_while_the_weights_are_copied() -> None:
    mocks = run_program(values(**NVME))
    (spec,) = pullers(mocks)
    pod, group = spec["template"]["spec"], engine(mocks)
    assert pod["containers"][0]["image"] == group["containers"][0]["image"]
    assert pod["nodeSelector"] == group["nodeSelector"]
    assert pod["tolerations"] == group["tolerations"]
    # It takes no GPU, or the engine would wait for it for ever.
    assert set(pod["containers"][0]["resources"]["requests"]) == {"cpu", "memory"}
    kubernetes_validate.validate(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "image"}, "spec": spec}, "1.35", strict=True
    )


def test_up_neither_waits_for_it_nor_routes_to_it() -> None:
    mocks = run_program(values(**NVME))
    (puller,) = [each for each in mocks.of("DaemonSet") if each.name.endswith("-image")]
    (service,) = [each for each in mocks.of("Service") if each.name.endswith("-service")]
    assert puller.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    labels = puller.inputs["spec"]["template"]["metadata"]["labels"]
    assert not set(service.inputs["spec"]["selector"].items()) <= set(labels.items())


def test_without_a_copy_to_wait_for_there_is_none() -> None:
    assert pullers(run_program(values())) == []
    assert pullers(run_program(values(**NVME, serve=False))) == []
