"""The weights' way: from the hub into the bucket (`sync`), and from the bucket onto a node's NVMe (`fetch`).

What runs in a pod gets there as plain files with nothing but obstore and urllib3 beside them, so those modules import
the standard library, these two and each other; only the Job component knows Pulumi.
"""
