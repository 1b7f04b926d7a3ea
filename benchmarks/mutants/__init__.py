"""Mutation testing: how many small faults, put in on purpose, the tests notice (`make mutants`)."""
