"""Rule-based text analysis: words, names, sentences, valence, denials. Pure, no model."""
