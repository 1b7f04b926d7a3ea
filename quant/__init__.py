"""Quantisation of quaternion networks."""

import logging

# torchao registers a class in a way that torch will give up, and torch says so at each import.
logging.getLogger("torch.utils._pytree").setLevel(logging.ERROR)
