"""What is read out of a text by rule: words, names, sentences, feelings, what it denies. Pure, no model."""
