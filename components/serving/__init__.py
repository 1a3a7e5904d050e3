"""Serves a plan on any cluster: canonical arguments, LeaderWorkerSet, Service, probes and policies."""
