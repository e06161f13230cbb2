"""The graph in arrays: links, vectors, energy, the loops that numba compiles, the snapshot."""
