"""Search indexes over rows: words (BM25), vectors. Rows in, scores out; what a row stands for is the caller's."""
