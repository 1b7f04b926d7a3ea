"""The command `tetraphone`."""
