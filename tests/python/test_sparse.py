"""Sparse matrices of blocks, against loops in Python."""

import numpy as np
import pytest

import warp as wp
from warp.sparse import bsr_row_index


@wp.kernel
def rows_of_blocks(offsets: wp.array(dtype=int), n: int, counts: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = bsr_row_index(offsets, n, i - 2)
    out[i, 1] = bsr_row_index(offsets, n, i - 2, counts)


@pytest.mark.parametrize("counts", [None, [2, 0, 1, 4]])
@pytest.mark.parametrize("offsets", [[0, 2, 2, 5, 9], [0, 0, 0, 3, 3], [0, 0, 0, 0, 0]], ids=str)
def test_rows_of_blocks(offsets, counts):
    def row(block, used):
        return next((r for r in range(4) if offsets[r] <= block < min(offsets[r] + used[r], offsets[r + 1])), -1)

    out = wp.zeros((14, 2), dtype=int)
    given = None if counts is None else wp.array(counts, dtype=int)
    wp.launch(rows_of_blocks, dim=14, inputs=[wp.array(offsets, dtype=int), 4, given, out])
    wanted = [[row(i - 2, [99] * 4), row(i - 2, counts or [99] * 4)] for i in range(14)]
    np.testing.assert_array_equal(out.numpy(), wanted)


def test_a_matrix_without_rows_has_no_blocks():
    out = wp.zeros((1, 2), dtype=int)
    wp.launch(rows_of_blocks, dim=1, inputs=[wp.array([0], dtype=int), 0, None, out])
    assert out.numpy().tolist() == [[-1, -1]]
