"""Models measured and calibrated on corpora, and run on one recording."""
