"""Azure: AKS, a storage account of our own, and the machines of a capacity reservation group or of the quota."""
