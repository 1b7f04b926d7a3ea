"""Quantisation of quaternion networks."""
