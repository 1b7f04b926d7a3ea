"""From checkpoints to program files: torch operators, the writer, and the runtime that checks its files."""
