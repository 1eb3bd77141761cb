"""Weft: the Warp kernel framework on a compiler of its own."""
