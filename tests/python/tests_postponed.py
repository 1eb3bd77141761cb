"""A kernel with postponed annotations, for test_launch.py."""

from __future__ import annotations

import warp as wp


@wp.kernel
def postponed(o: wp.array(dtype=float), x: float):
    i = wp.tid()
    o[i] = x
