"""A Kubernetes cluster that somebody already owns: nothing is bought and nothing but our own objects is touched."""
