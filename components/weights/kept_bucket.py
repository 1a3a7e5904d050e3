"""A bucket that outlived its stack is in the way of the next one, which must be told to use it."""

import pulumi


def told_if_taken(name: str, bucket: str, use: str | None = None) -> pulumi.ResourceHookBinding:
    """Return a hook that says how to go on when the bucket can't be made.

    Args:
        name: Of the bucket's Pulumi resource.
        bucket: Its name in the cloud.
        use: What to type below `weights`, where that isn't the bucket's name.
    """

    def failed(args: pulumi.ErrorHookArgs) -> bool:
        if args.failed_operation == "create":
            pulumi.error(
                f"if an earlier stack kept {bucket} (weights.keep), its weights are there: set kimi-k3:weights: "
                f"{{{use or f'bucket: {bucket}'}}} and nothing is copied again"
            )
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"{name}-taken", failed)])
