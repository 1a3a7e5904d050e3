"""The committed Alibaba Cloud stack under recorded registrations, and the variants that the tests share."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.conftest import Mocks, Registered, run_program
from tests.stacks import values

Changes = Mapping[str, object]

RESERVE: Changes = {
    "capacity": {
        "mode": "reserve",
        "ids": [],
        "zone": "ap-southeast-1a",
        "endTime": "2099-01-31T16:00:00Z",
        "acknowledgeBilling": True,
    }
}
BY_THE_HOUR: Changes = {"capacity": {"mode": "none", "ids": [], "zone": "ap-southeast-1b"}}
LINGJUN: Changes = {
    "machine": "GX8SF",
    "topology": {"interconnect": "tcp"},
    "capacity": {
        "mode": "lingjun",
        "ids": [],
        "zone": "ap-southeast-1a",
        "lingjunCluster": "i114444141733395242745",
        "lingjunGroup": "i121824791737080429819",
    },
}
FOUR: Changes = {"topology": {"pipelineParallel": 4}}
FOUR_NODES = {"crp-bp67acfmxazb4ph0abcd": {"instanceAmount": "4"}}
INTERNAL: Changes = {"exposure": {"mode": "internal"}}
PUBLIC: Changes = {
    "exposure": {
        "mode": "public",
        "allowedRanges": ["203.0.113.0/24", "198.51.100.7/32"],
        "certificateId": "1234567-ap-southeast-1",
    }
}
DISK: Changes = {"weights": {"delivery": "disk"}}
STREAM: Changes = {"weights": {"delivery": "stream"}}
KEYS = {"bucketAccessKeyId": "sentinel-of-the-id", "bucketSecretAccessKey": "sentinel-of-the-key"}
ERDMA: Changes = {
    "topology": {"interconnect": "rdma"},
    "serving": {"hostNetwork": True, "socketInterface": "eth1", "image": "registry.example.com/vllm-erdma:0.33.0"},
}
LINGJUN_RDMA: Changes = {
    **LINGJUN,
    "topology": {"interconnect": "rdma"},
    "serving": {"hostNetwork": True, "socketInterface": "bond0"},
}
MAINLAND: Changes = {
    "region": "cn-hangzhou",
    "mirror": {
        "images": "registry-vpc.cn-hangzhou.cr.aliyuncs.com/mirror",
        "charts": "oci://registry-vpc.cn-hangzhou.cr.aliyuncs.com/mirror",
        "pythonIndex": "https://mirrors.aliyun.com/pypi/simple/",
    },
    "weights": {"source": "modelscope", "digest": "0" * 64},
}
MAINLAND_ANSWERS: Mapping[str, Any] = {
    "pools": {"crp-bp67acfmxazb4ph0abcd": {"zoneIds": ["cn-hangzhou-k"]}},
    "balancer_zones": ("cn-hangzhou-j", "cn-hangzhou-k"),
}
VPC = "vpc-t4nabcdefgh"
SWITCHES = {
    "vsw-t4nabcdefgh": ("ap-southeast-1b", VPC),
    "vsw-t4nabcdefgi": ("ap-southeast-1a", VPC),
    "vsw-t4nabcdefgj": ("ap-southeast-1a", VPC),
    "vsw-t4nabcdefgk": ("ap-southeast-1b", VPC),
}
"""Zone and VPC of vSwitches that were there before: two of nodes, two of pods."""
EXISTING_NETWORK: Changes = {
    "network": {
        "vpcId": VPC,
        "vswitchIds": ["vsw-t4nabcdefgh", "vsw-t4nabcdefgi"],
        "podVswitchIds": ["vsw-t4nabcdefgj", "vsw-t4nabcdefgk"],
    }
}


def program(
    changes: Changes | None = None,
    answers: AlicloudAnswers | None = None,
    *,
    unknown: bool = False,
    secrets: Mapping[str, str] | None = None,
) -> Mocks:
    """Run the program with the committed stack file and these changes."""
    stack = values("alicloud", **(changes or {}))
    return run_program(stack, unknown=unknown, secrets=secrets, cloud=answers or AlicloudAnswers())


def refusal(changes: Changes | None = None, answers: AlicloudAnswers | None = None) -> str:
    """Return what the program refuses the stack with, before it has registered anything but the provider."""
    with pytest.raises(pulumi.RunError) as caught:
        program(changes, answers)
    return str(caught.value)


def only(found: list[Registered], name: str = "") -> Registered:
    """Return the one resource, or the one of that name."""
    (resource,) = [each for each in found if name in ("", each.name)]
    return resource


def gpu_nodes(mocks: Mocks) -> Registered:
    """Return the GPU node pool."""
    return only(mocks.of("NodePool"), "gpu-nodes")
