"""Features of corpora and the batches drawn from them."""
