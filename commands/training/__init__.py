"""What `train --recipe` and `benchmark training` do: they join rooms that know nothing of one another."""
