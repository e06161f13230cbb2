"""What a project knows: chunks, each with where it came from and what it rests on."""
