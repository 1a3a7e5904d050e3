"""The stand-in for the `eks` provider, whose components register resources of the `aws` provider."""
