"""Gradients of random kernels against central differences of the same text run as Python (random_kernels.py)."""

import pytest
from support.check_random_kernels import check

PROGRAMS = 500
CHUNK = 50


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_kernels(first, tmp_path):
    results = [(seed, *check(seed, tmp_path)) for seed in range(first, first + CHUNK)]
    wrong = [r for r in results if r[1] not in ("right", "uncheckable", "refused")]
    assert not wrong, wrong[0]
    checked = [r for r in results if r[1] == "right"]
    assert len(checked) >= 0.95 * CHUNK, [r for r in results if r[1] != "right"]
