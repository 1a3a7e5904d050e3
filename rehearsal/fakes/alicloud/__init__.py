"""The stand-in for the `alicloud` provider and the account behind it.

It refuses what VPC, ACK, ECS, RAM and OSS refuse, as far as this program can run into it: names, ids of nothing, an
order of deletion that leaves something in use, nodes without a way out or a place in a private pool, halves of the
network add-on that don't match. One file a noun; each rule has the source of its text beside it.

Codes are Alibaba Cloud's where its documentation, its provider or a report is known to have them; what has none is
said in words of our own, behind "here:".

Settings of the account: `region`, `server`, `authority` and `token` of the cluster's API, `balancer_zones`, `sold`
(instances of a type that are left by the hour), `lingjun` (nodes of the group that the person adds), `taken_buckets`.
"""
