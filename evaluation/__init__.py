"""Models measured and calibrated on corpora."""
