"""Recognition and its scores; nothing here imports torch."""
