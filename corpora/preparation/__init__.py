"""From the corpora as they are distributed to manifests."""
