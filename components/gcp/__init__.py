"""GCP: GKE on GPU machines of a reservation, with the weights in Cloud Storage."""
