"""The stand-in for the `gcp` provider and the project behind it.

It refuses what Compute Engine, GKE, IAM and Cloud Storage refuse, as far as this program can run into it: ids of
nothing, an order of deletion that leaves something in use, machines that a sub-block can't hold, protection that the
state still has. One file a noun; each rule has the source of its text beside it.

Settings of the account: `project` and `region`, `server` and `authority` of the clusters' API, `taken_buckets`, and
`gpu_zones`, the zones that have GPU machines.
"""
