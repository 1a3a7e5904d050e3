"""Alibaba Cloud: ACK on eight-GPU nodes of 96 or 141 GB a GPU, with the weights in OSS."""
