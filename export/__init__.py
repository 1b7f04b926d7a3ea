"""From checkpoints to program files: operators, the writer and the runtime that checks it."""
