"""Search indexes over rows: words (BM25) and vectors. Rows in, scores out; only the caller knows what a row means."""
