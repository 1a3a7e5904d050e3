"""The kubeconfig of an EKS cluster: its token comes from the `aws` command.

The shape is that of pulumi/pulumi-eks, nodejs/eks/cluster/cluster.ts (`generateKubeconfig`).
"""

from rehearsal.fakes.construction import Registered
from rehearsal.fakes.values import UNKNOWN, Properties, contains_unknown, mapping


def kubeconfig(control_plane: Registered, credentials: Properties, *, with_profile: bool) -> object:
    """Return the kubeconfig, or `UNKNOWN` before the cluster exists.

    Args:
        control_plane: The EKS cluster.
        credentials: `roleArn` and `profileName` of the AWS configuration.
        with_profile: Whether the profile is named; what the component hands out has none, so that anyone can use it.
    """
    name, arn = control_plane.output("name"), control_plane.output("arn")
    server, authority = control_plane.output("endpoint"), control_plane.output("certificateAuthority")
    if contains_unknown([name, arn, server, authority]):
        return UNKNOWN
    region = str(arn).split(":")[3]
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", str(name), "--output", "json"]
    if role := credentials.get("roleArn"):
        arguments += ["--role", str(role)]
    if with_profile and (profile := credentials.get("profileName")):
        arguments += ["--profile", str(profile)]
    exec_info = '{"apiVersion": "client.authentication.k8s.io/v1beta1"}'
    user: Properties = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "aws",
            "args": arguments,
            "env": [{"name": "KUBERNETES_EXEC_INFO", "value": exec_info}],
        }
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "kubernetes",
                "cluster": {"server": server, "certificate-authority-data": mapping(authority).get("data")},
            }
        ],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "current-context": "aws",
        "users": [{"name": "aws", "user": user}],
    }
