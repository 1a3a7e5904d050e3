"""Kimi K3 on the cloud that the stack file names: settings, plan, cluster, serving, outputs."""

import gc
from typing import assert_never

import pulumi

from components import config, summary
from components.inference_cluster import InferenceCluster
from components.serving.vllm_serving import VllmServing, VllmServingArgs

# What was imported lives as long as the program: the collector need not walk through it in every preview.
gc.freeze()
settings, secrets, plan = config.read()
summary.announce(plan, settings.serving)
outputs: dict[str, pulumi.Input[object]] = {**summary.outputs(plan)}
cluster: InferenceCluster | None = None

match settings.cloud:
    case "existing":
        from components.existing.inference_cluster import inference_cluster

        cluster = inference_cluster(settings, secrets, plan)
    case "aws" if settings.buys_capacity:
        from components.aws.capacity_purchase import capacity_purchase

        outputs |= capacity_purchase(settings, plan)
    case "aws":
        from components.aws.inference_cluster import inference_cluster

        cluster = inference_cluster(settings, secrets, plan)
    case "azure":
        from components.azure.inference_cluster import inference_cluster

        cluster = inference_cluster(settings, secrets, plan)
    case "gcp" if settings.buys_capacity:
        from components.gcp.capacity_purchase import capacity_purchase

        outputs |= capacity_purchase(settings, plan)
    case "gcp":
        from components.gcp.inference_cluster import inference_cluster

        cluster = inference_cluster(settings, secrets, plan)
    case "alicloud":
        from components.alicloud.inference_cluster import inference_cluster

        cluster = inference_cluster(settings, secrets, plan)
    case other:
        assert_never(other)

if cluster is not None:
    outputs |= cluster.outputs
if cluster is not None and plan.replicas:
    serving_args = VllmServingArgs(
        plan=plan,
        serving=settings.serving,
        exposure=settings.exposure,
        mirror=settings.mirror,
        owner=settings.owner,
        tags=settings.tags,
        cluster=cluster,
        api_key=secrets.api_key,
    )
    serving = VllmServing("kimi-k3", serving_args)
    outputs |= {"endpoint": serving.endpoint, "apiKey": serving.api_key}
for name, value in outputs.items():
    pulumi.export(name, value)
