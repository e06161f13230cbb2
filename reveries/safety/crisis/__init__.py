"""Crisis detection: whether a person's words show that they are in danger, by patterns and by sentence embeddings."""
