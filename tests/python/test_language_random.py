"""Random programs over the whole language give what Python over NumPy scalars gives, on both backends, bit for bit."""

import linecache

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_language import SIZE, Maker, run_python

import warp as wp


def check(seed):
    kernel, python = Maker(seed).make()
    rng = np.random.default_rng(seed)
    ks = rng.integers(-20, 20, SIZE).astype(np.int32)
    xs = rng.integers(-8, 8, SIZE) / 4.0
    wanted = run_python(python, ks, xs)
    path = f"<random {seed}>"
    linecache.cache[path] = (len(kernel), None, kernel.splitlines(True), path)
    names = {"__name__": "random_language"}
    exec(compile(kernel, path, "exec"), names)
    for backend in ("", "cxx"):
        wp.config.cpu_backend = backend
        try:
            ko, xo = wp.zeros(SIZE, dtype=int), wp.zeros(SIZE, dtype=wp.float64)
            wp.launch(names["k"], dim=1, inputs=[wp.array(ks), wp.array(xs), ko, xo])
            np.testing.assert_array_equal(ko.numpy(), wanted[0], err_msg=f"{seed} {backend}")
            np.testing.assert_array_equal(xo.numpy(), wanted[1], err_msg=f"{seed} {backend}")
        finally:
            wp.config.cpu_backend = ""


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1))
def test_random_programs_agree_with_python(seed):
    check(seed)
