"""Kimi K3 on the cloud that the stack file names: settings, plan, cluster, serving, outputs."""

from typing import assert_never

import pulumi

from components import config, summary
from components.overrides import estimate_warnings
from components.serving.vllm_serving import VllmServing, VllmServingArgs

settings, secrets, plan = config.read()
pulumi.info(summary.table("Plan", summary.plan_rows(plan)))
pulumi.info(summary.table("Cost", summary.cost_rows(plan.cost)))
for warning in (*plan.warnings, *estimate_warnings(settings.serving)):
    pulumi.warn(warning)

match settings.cloud:
    case "existing":
        from components.existing.inference_cluster import inference_cluster
    case other:
        assert_never(other)

cluster = inference_cluster(settings, secrets, plan)
pulumi.export("plan", dict(summary.plan_rows(plan)))
pulumi.export("cost", dict(summary.cost_rows(plan.cost)))
if plan.replicas:
    serving = VllmServing(
        "kimi-k3",
        VllmServingArgs(
            plan=plan,
            serving=settings.serving,
            exposure=settings.exposure,
            mirror=settings.mirror,
            owner=settings.owner,
            tags=settings.tags,
            cluster=cluster,
            api_key=secrets.api_key,
        ),
    )
    pulumi.export("endpoint", serving.endpoint)
    pulumi.export("model", plan.model.served_name)
    pulumi.export("apiKey", serving.api_key)
    pulumi.export(
        "next",
        'curl $(pulumi stack output endpoint)/models -H "Authorization: Bearer $KEY" '
        "with KEY=$(pulumi stack output apiKey --show-secrets)",
    )
else:
    pulumi.export("status", "parked: no GPU node runs; set serve: true and replicas to serve")
