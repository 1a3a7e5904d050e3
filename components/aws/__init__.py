"""AWS: EKS on GPU instances of a reservation, with the weights in S3."""
