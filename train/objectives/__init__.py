"""What a network is trained for."""
