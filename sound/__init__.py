"""Recordings: their containers, samples and features."""
