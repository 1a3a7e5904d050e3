"""A real Kubernetes control plane as local processes: no container, no privilege, no machine with a GPU.

The API server, the controllers, the scheduler and the LeaderWorkerSet controller are the released ones; KWOK plays
the nodes, so that whether a pod fits, and where, is decided by the real scheduler. There is no kubelet: no image
is pulled, no command runs, no probe is asked. One file a process; `control_plane.py` puts them together.
"""
