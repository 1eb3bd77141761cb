"""The rows of the benchmark, by subject."""

from subjects import arithmetic, cloth, grids, launches, mpm, reductions, startup, streams

ROWS = {
    row.name: row
    for part in (streams, arithmetic, reductions, grids, mpm, cloth, launches, startup)
    for row in part.ROWS
}
