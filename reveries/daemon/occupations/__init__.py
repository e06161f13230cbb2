"""What the mind does while nobody talks: thinking, sleep, project work, and who runs next."""
