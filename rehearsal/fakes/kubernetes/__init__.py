"""The stand-in for the `kubernetes` provider and the API server behind it.

It refuses what they refuse: manifests that don't fit the schema of their kind, kinds that no definition was
installed for, names that exist, namespaces that don't. No pod runs: that is the full rehearsal's part.
"""
