"""The stand-in for the `aws` provider and the account behind it.

It refuses what EC2, EKS, IAM and S3 refuse, as far as this program can run into it: names, ids of nothing, an order of
deletion that leaves something in use, nodes that a Capacity Block can't hold or that would never join their cluster.
One file a noun; each rule has the source of its text beside it.

Settings of the account: `region`, `account_id`, `server` and `authority` of the clusters' API, and what `setting.py` of
the rehearsal's cloud puts there before the program comes.
"""
