"""Quaternion algebra, layers and the acoustic model."""
