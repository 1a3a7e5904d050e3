"""Kimi K3 on the cloud that the stack file names: settings, plan, cluster, serving, outputs."""

import gc
from typing import assert_never

import pulumi

from components import config, summary
from components.serving.vllm_serving import VllmServing, VllmServingArgs

# What was imported lives as long as the program: the collector need not walk through it in every preview.
gc.freeze()
settings, secrets, plan = config.read()
summary.announce(plan, settings.serving)

match settings.cloud:
    case "existing":
        from components.existing.inference_cluster import inference_cluster
    case other:
        assert_never(other)

cluster = inference_cluster(settings, secrets, plan)
outputs: dict[str, pulumi.Input[object]] = {**summary.outputs(plan)}
if plan.replicas:
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
