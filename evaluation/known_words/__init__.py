"""What aligns known words: the head that tells where they are, and how far it is from where they were marked."""
