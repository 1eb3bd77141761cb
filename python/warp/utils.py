"""`warp.utils`: algorithms on arrays, timing and other helpers, by the names that programs know."""

import enum

from warp.algorithms import (
    array_cast,
    array_inner,
    array_scan,
    array_sum,
    create_warp_function,
    radix_sort_pairs,
    runlength_encode,
    segmented_sort_pairs,
)
from warp.loggers import log_warning
from warp.memory import AllocatorRmm, AllocatorTorch
from warp.timing import ScopedTimer
from warp.vectors import transform_expand


class GraphColoringAlgorithm(enum.IntEnum):
    MCS = 0
    GREEDY = 1


def warn(message, category=None, stacklevel=1):
    """A warning through the package's logger."""
    log_warning(message, category=category, stacklevel=stacklevel)
