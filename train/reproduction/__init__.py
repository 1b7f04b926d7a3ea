"""The tables of experiments: the paper's, and one on free speech."""
