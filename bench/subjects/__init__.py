"""The rows of the benchmark, by subject."""

from subjects import arithmetic, cloth, grids, launches, mpm, mpm_2d, reductions, sph, startup, streams

ROWS = {
    row.name: row
    for part in (streams, arithmetic, reductions, grids, mpm, mpm_2d, sph, cloth, launches, startup)
    for row in part.ROWS
}
