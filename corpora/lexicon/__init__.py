"""A pronouncing dictionary in a quarter of a megabyte, made of its text."""
