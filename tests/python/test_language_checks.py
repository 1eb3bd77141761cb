"""What debug and safe mode check while a kernel runs, and that release mode does not."""

import numpy as np
import pytest

import warp as wp


@pytest.fixture(params=["", "cxx"])
def backend(request):
    wp.config.cpu_backend = request.param
    yield request.param
    wp.config.cpu_backend = ""


@pytest.fixture
def safe():
    wp.config.mode = "safe"
    yield
    wp.config.mode = "release"


def failure(kernel, dim, *inputs):
    """The message of what is raised, as lines."""
    with pytest.raises(wp.WarpRuntimeError) as raised:
        wp.launch(kernel, dim=dim, inputs=list(inputs))
        wp.synchronize()
    return str(raised.value).splitlines()


@wp.func
def shifted(x: wp.array2d(dtype=float), i: int, j: int):
    return x[i, j + 1]


def test_an_index_out_of_bounds_tells_line_index_shape_and_thread(backend, safe):
    @wp.kernel(module="unique")
    def kernel(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        i, j = wp.tid()
        out[i] += shifted(x, i, j)

    lines = failure(kernel, (2, 3), wp.zeros((2, 3), dtype=float), wp.zeros(2, dtype=float))
    assert lines[0] in [
        f"in thread ({i}, 2): index 3 is out of bounds for dimension 1 of an array of shape (2, 3)" for i in range(2)
    ]
    assert "test_language_checks.py" in lines[1]
    assert lines[2].strip() == "return x[i, j + 1]" and lines[3].index("^") == lines[2].index("j + 1")


def test_the_item_ends_where_a_check_fails(backend, safe):
    @wp.kernel(module="unique")
    def kernel(x: wp.array(dtype=float), n: int):
        x[n] = 1.0
        x[0] = 2.0

    x = wp.zeros(4, dtype=float)
    failure(kernel, 1, x, 1_000_000_000)
    assert x.numpy().tolist() == [0, 0, 0, 0]
    wp.launch(kernel, dim=1, inputs=[x, -4])  # counted from the end
    assert x.numpy().tolist() == [2, 0, 0, 0]
    assert "index -5" in failure(kernel, 1, x, -5)[0]


@pytest.mark.parametrize("what", ["vector", "matrix", "division", "atomic", "view", "local", "write"])
def test_what_is_checked(what, backend, safe):
    @wp.kernel(module="unique")
    def kernel(x: wp.array2d(dtype=float), n: int):
        if wp.static(what == "vector"):
            v = wp.vec3(1.0, 2.0, 3.0)
            x[0, 0] = v[n]
        elif wp.static(what == "matrix"):
            m = wp.mat22(1.0, 2.0, 3.0, 4.0)
            x[0, 0] = m[n, 0]
        elif wp.static(what == "division"):
            x[0, 0] = float(7 // (n - 9))
        elif wp.static(what == "atomic"):
            wp.atomic_add(x, n, 0, 1.0)
        elif wp.static(what == "view"):
            row = x[n]
            x[0, 0] = row[0]
        elif wp.static(what == "local"):
            a = wp.zeros(4, dtype=float)
            a[n] = 1.0
            x[0, 0] = a[0]
        else:
            x[0, n] = 1.0

    line = failure(kernel, 1, wp.zeros((2, 2), dtype=float), 9)[0]
    assert ("division by zero" if what == "division" else "index 9 is out of bounds") in line


def test_release_checks_nothing(backend):
    @wp.kernel(module="unique")
    def kernel(x: wp.array(dtype=float), n: int):
        x[0] = float(7 // n)
        assert n > 0, "never compiled"

    x = wp.ones(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[x, 0])
    assert x.numpy()[0] == 0


def test_asserts_of_debug_mode_raise_with_their_line_and_message(backend):
    wp.config.mode = "debug"
    try:

        @wp.kernel(module="unique")
        def kernel(x: wp.array(dtype=int)):
            i = wp.tid()
            assert x[i] % 2 == 0, "100% even"

        lines = failure(kernel, 3, wp.array([0, 1, 2], dtype=int))
        assert lines[0] == "in thread (1): 100% even"
        assert lines[2].strip() == 'assert x[i] % 2 == 0, "100% even"'
    finally:
        wp.config.mode = "release"


def test_verify_fp_refuses_what_is_not_finite(backend):
    wp.config.verify_fp = True
    try:

        @wp.kernel(module="unique")
        def kernel(x: wp.array(dtype=wp.vec2), y: float):
            x[0] = wp.vec2(1.0, 1.0 / y)

        x = wp.zeros(1, dtype=wp.vec2)
        wp.launch(kernel, dim=1, inputs=[x, 2.0])
        np.testing.assert_array_equal(x.numpy(), [[1, 0.5]])
        assert "not finite" in failure(kernel, 1, x, 0.0)[0]
    finally:
        wp.config.verify_fp = False


@pytest.mark.parametrize("what", ["+=", "-=", "atomic_add", "atomic_exch"])
def test_verify_fp_sees_what_is_added(what, backend):
    wp.config.verify_fp = True
    try:

        @wp.kernel(module="unique")
        def kernel(x: wp.array(dtype=wp.float64), y: wp.float64):
            wp.atomic_min(x, 1, wp.float64(1.0) / (y - y))
            if wp.static(what == "+="):
                x[0] += wp.float64(1.0) / y
            elif wp.static(what == "-="):
                x[0] -= wp.float64(1.0) / y
            elif wp.static(what == "atomic_add"):
                wp.atomic_add(x, 0, wp.float64(1.0) / y)
            else:
                wp.atomic_exch(x, 0, wp.float64(1.0) / y)

        x = wp.zeros(2, dtype=wp.float64)
        wp.launch(kernel, dim=1, inputs=[x, 2.0])
        assert x.list() == [-0.5 if what == "-=" else 0.5, 0]
        assert "not finite" in failure(kernel, 1, x, 0.0)[0]
        assert x.list() == [-0.5 if what == "-=" else 0.5, 0]
    finally:
        wp.config.verify_fp = False


@pytest.mark.parametrize("mode", ["release", "safe"])
def test_slices_of_step_zero_are_refused_in_every_mode(mode, backend):
    @wp.kernel(module="unique")
    def kernel(x: wp.array(dtype=float), step: int, out: wp.array(dtype=int)):
        out[0] = x[0:6:step].shape[0]

    wp.config.mode = mode
    try:
        out = wp.zeros(1, dtype=int)
        for step in (1, 2, 4, -1):
            wp.launch(kernel, dim=1, inputs=[wp.zeros(6), step], outputs=[out])
            assert out.list() == [len(range(6)[0:6:step])]
        lines = failure(kernel, 1, wp.zeros(6), 0, out)
    finally:
        wp.config.mode = "release"
    assert lines[0] == "in thread (0): slice step cannot be zero"
    assert lines[2].index("x") + 2 == lines[3].index("^")


@wp.struct
class Inner:
    direction: wp.vec2
    flag: wp.bool


@wp.struct
class Outer:
    number: wp.float64
    inner: Inner
    values: wp.array2d(dtype=wp.int8)


def test_structs_are_printed_with_their_members(backend, capfd):
    @wp.kernel(module="unique")
    def kernel(s: Outer):
        print(s)

    s = Outer(number=0.5, inner=Inner(direction=wp.vec2(1.0, -2.0), flag=True), values=wp.zeros((2, 3), dtype=wp.int8))
    wp.launch(kernel, dim=1, inputs=[s])
    wp.synchronize()
    text = "Outer(number=0.5, inner=Inner(direction=(1 -2), flag=1), values=array(shape=(2, 3), dtype=int8))\n"
    assert capfd.readouterr().out.endswith(text)
