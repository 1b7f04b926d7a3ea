"""What scores how known words were said: the head, and how far it agrees with experts."""
