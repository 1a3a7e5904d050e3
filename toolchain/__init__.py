"""Gets the programs that this project runs: the Pulumi CLI, its provider, a Kubernetes control plane.

Each tool is one module whose `ensure()` finds the tool or makes it, and returns its path.
`python -m toolchain TOOL` does the same from a shell. What is made lands in `.tools`, which git ignores.
"""
