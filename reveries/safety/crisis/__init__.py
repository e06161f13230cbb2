"""Whether words are those of a person in danger: rules over patterns by language, and what the words mean."""
