"""Quaternion algebra and layers, features, corpora, training and scoring."""
