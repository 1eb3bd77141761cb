"""Sparse matrices of blocks in compressed rows. So far: what kernels ask of their structure."""

import warp as wp


@wp.func
def bsr_row_index(offsets: wp.array(dtype=int), row_count: int, block_index: int) -> int:
    """The row of a block, or -1 where there is none. Row i has the blocks from offsets[i] to offsets[i + 1]."""
    if row_count < 1 or block_index < 0 or block_index >= offsets[row_count]:
        return -1
    return wp.lower_bound(offsets, 0, row_count + 1, block_index + 1) - 1


@wp.func
def bsr_row_index(  # noqa: F811
    offsets: wp.array(dtype=int), row_count: int, block_index: int, row_counts: wp.array(dtype=int)
) -> int:
    """The row of a block in a matrix whose rows have room to grow: only the first row_counts[i] blocks of a row are in
    use. Without `row_counts` all are."""
    row = bsr_row_index(offsets, row_count, block_index)
    if row_counts and row >= 0:
        if block_index >= offsets[row] + row_counts[row]:
            return -1
    return row
