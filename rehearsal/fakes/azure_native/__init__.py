"""The stand-in for the `azure-native` provider and the subscription behind it.

It refuses what Resource Manager, AKS, Compute, Storage and Entra refuse, as far as this program can run into it: ids of
nothing, rights that nobody has or that aren't known yet, machines that a size, an image or a quota doesn't allow, an
order of deletion that leaves something in use. One file a noun; each rule has the source of its text beside it.

Settings of the account: `subscription` and `region`; `server`, `authority` and `token` of the clusters' API;
`infiniband`, the feature of the subscription; `nd_reservations`, whether ND sizes may be reserved; `quota_vcpus` of GPU
machines; `free_machines` of the region; `role_seconds` until a role is known; `taken_accounts`; `cliques`, the NVLink
domains of GPU nodes in their order.
"""
