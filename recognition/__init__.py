"""The recogniser, and measures of what it recognised; nothing here imports torch."""
