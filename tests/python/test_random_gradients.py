"""Gradients of random kernels against central differences of the same text run as Python (random_kernels.py)."""

import pytest
from support.check_random_kernels import check

PROGRAMS = 500
CHUNK = 50


ON_CPU = pytest.mark.host("GPUs do not keep results of atomics in loops")
PLAIN = [(first, False) for first in range(0, PROGRAMS, CHUNK)]
WITH_COUNTERS = [pytest.param(first, True, marks=ON_CPU) for first in (0, 50)]


@pytest.mark.parametrize("first, counters", PLAIN + WITH_COUNTERS)
def test_random_kernels(first, counters, tmp_path):
    results = [(seed, *check(seed, tmp_path, counters)) for seed in range(first, first + CHUNK)]
    wrong = [r for r in results if r[1] not in ("right", "uncheckable", "refused")]
    assert not wrong, wrong[0]
    checked = [r for r in results if r[1] == "right"]
    assert len(checked) >= 0.95 * CHUNK, [r for r in results if r[1] != "right"]
