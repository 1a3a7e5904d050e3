"""Helm releases of other people's charts: pinned, and from a mirror on a closed network."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.settings import Mirror


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One version of a chart."""

    name: str
    version: str
    repository: str
    """An oci:// prefix or the URL of a Helm repository."""

    def reference(self, mirror: Mirror) -> str:
        """Return what Helm is asked for: a mirror's path, a registry's, or the name in a repository."""
        if mirror.charts:
            return f"{mirror.charts.rstrip('/')}/{self.name}"
        return f"{self.repository}/{self.name}" if self.repository.startswith("oci://") else self.name

    def repository_options(self, mirror: Mirror) -> kubernetes.helm.v3.RepositoryOptsArgs | None:
        """Return where the name is looked up; None when the reference says it all."""
        if mirror.charts or self.repository.startswith("oci://"):
            return None
        return kubernetes.helm.v3.RepositoryOptsArgs(repo=self.repository)


def release(
    name: str,
    chart: Chart,
    mirror: Mirror,
    *,
    namespace: pulumi.Input[str],
    values: Mapping[str, object],
    opts: pulumi.ResourceOptions,
) -> kubernetes.helm.v3.Release:
    """Install a chart and wait until what it brings is ready: webhooks must answer before anything needs them.

    Args:
        name: Of the Pulumi resource; the release has the chart's name.
        chart: Which.
        mirror: Where it comes from on a closed network.
        namespace: One that exists: Helm's createNamespace is never deleted.
        values: The chart's values that differ from its own.
        opts: Parent and provider.
    """
    return kubernetes.helm.v3.Release(
        name,
        name=chart.name,
        chart=chart.reference(mirror),
        version=chart.version,
        repository_opts=chart.repository_options(mirror),
        namespace=namespace,
        values=values,
        skip_await=False,
        timeout=600,
        opts=opts,
    )
