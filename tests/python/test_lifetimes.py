"""What kernels need goes with the last object that needs it: code, syntax trees, modules."""

import gc
import linecache
import weakref

import numpy as np
import pytest

import warp as wp
from warp import kernels, mapping, modules, source


def of_values(number):
    @wp.func
    def scaled(x: float):
        return x * float(number)

    @wp.kernel(module="unique")
    def kernel(x: wp.array[float]):
        i = wp.tid()
        x[i] = scaled(x[i]) + 1.0

    return kernel


def of_text(number):
    """A kernel of a program of its own, whose functions refer to its names and these to them."""
    text = "\n".join(
        [
            "import warp as wp",
            "@wp.func",
            "def scaled(x: float):",
            f"    return x * {number}.0",
            '@wp.kernel(module="unique")',
            "def kernel(x: wp.array[float]):",
            "    i = wp.tid()",
            "    x[i] = scaled(x[i]) + wp.static(1.0)",
        ]
    )
    path = f"<lifetimes {number}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {"__name__": "lifetimes"}
    exec(compile(text, path, "exec"), names)
    del linecache.cache[path]
    return names["kernel"]


def of_map(number):
    def scaled(x: float):
        return x * float(number) + 1.0

    return wp.func(scaled)


def run(made, number):
    x = wp.array([1.0, 2.0], dtype=float)
    if isinstance(made, wp.Function):
        x = wp.map(made, x)
    else:
        wp.launch(made, dim=2, inputs=[x])
    assert x.list() == [number + 1, 2 * number + 1]


def counts():
    gc.collect()
    kinds = (wp.Kernel, wp.Function, modules.Module, source._File, kernels.MapKernel)
    held = [type(o) for o in gc.get_objects()]
    with open("/proc/self/maps") as maps:
        return {kind.__name__: sum(issubclass(k, kind) for k in held) for kind in kinds}, sum(1 for _ in maps)


@pytest.mark.parametrize("make", [of_values, of_text, of_map])
def test_300_kernels_made_and_dropped_leave_nothing(make):
    texts = 10  # each made many times, as nobody keeps it; that many compiles
    for number in range(texts):
        run(make(number), number)
    objects, mapped = counts()
    for number in range(300):
        run(make(number % texts), number % texts)
    after, mapped_after = counts()
    assert all(after[kind] <= objects[kind] + 2 for kind in after), (objects, after)
    assert mapped_after < mapped + 50  # each code has pages of its own


def test_lambdas_of_other_values_are_bounded():
    x = wp.array([1.0], dtype=float)

    def add(number):
        return wp.map(lambda v: v + number, x)

    for number in range(mapping._MOST_LAMBDAS + 20):
        assert mapping._resolved((lambda n: lambda v: v + n)(number)) is not None
    assert add(2.0).list() == [3.0] and add(5.0).list() == [6.0]
    assert len(mapping._lambdas) <= mapping._MOST_LAMBDAS


def test_a_kernel_lives_as_long_as_what_was_recorded_of_it():
    x, out = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)

    def make(factor):
        @wp.kernel(module="unique")
        def square(x: wp.array[float], out: wp.array[float]):
            out[0] = factor * x[0] * x[0]

        return square

    square = make(2.0)
    seen = weakref.ref(square), weakref.ref(square.module)
    with wp.Tape() as tape:
        wp.launch(square, dim=1, inputs=[x], outputs=[out])
    with wp.ScopedCapture() as capture:
        wp.launch(square, dim=1, inputs=[x], outputs=[out])
    del square
    gc.collect()
    assert all(ref() is not None for ref in seen)
    tape.backward(out)
    assert x.grad.list() == [12.0]
    out.zero_()
    wp.capture_launch(capture.graph)
    assert out.list() == [18.0]
    del tape
    gc.collect()
    assert seen[0]() is not None
    del capture
    gc.collect()
    assert all(ref() is None for ref in seen)


def test_what_a_dropped_kernel_captured_goes_too():
    big = np.zeros(10)
    seen = weakref.ref(big)

    def make(captured):
        @wp.kernel(module="unique")
        def kernel(x: wp.array[float]):
            x[0] = float(wp.static(len(captured)))

        return kernel

    x = wp.zeros(1)
    kernel = make(big)
    wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [10]
    del big, kernel
    gc.collect()
    assert seen() is None


def test_equal_definitions_are_one_kernel_while_somebody_has_it():
    first = of_values(7)
    assert of_values(7) is first and wp.get_module(first.module.name) is first.module
    assert first.module.kernels[first.key] is first


def test_a_module_that_somebody_has_keeps_its_kernel():
    module = of_values(8).module
    gc.collect()
    assert [k.key for k in module.live_kernels()] == list(module.kernels)
    kernel = module.live_kernels()[0]
    run(kernel, 8)
    seen = weakref.ref(kernel), weakref.ref(module)
    del kernel, module
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_function_that_a_kernel_calls_may_be_dropped_by_its_maker():
    def make():
        @wp.func
        def three():
            return 3.0

        @wp.func
        def six():
            return three() + three()

        @wp.kernel(module="unique")
        def kernel(x: wp.array[float]):
            x[0] = six()

        return kernel

    kernel = make()
    gc.collect()
    x = wp.zeros(1)
    wp.launch(kernel, dim=1, inputs=[x])
    wp.config.mode = "debug"  # compiled again, from the definitions
    try:
        wp.launch(kernel, dim=1, inputs=[x])
    finally:
        wp.config.mode = "release"
    assert x.list() == [6]


def test_a_map_kernel_keeps_its_function():
    kernel = wp.map(of_map(3), wp.zeros(1), return_kernel=True)
    gc.collect()
    x, out = wp.array([2.0], dtype=float), wp.zeros(1)
    wp.launch(kernel, dim=1, inputs=[x], outputs=[out])
    assert out.list() == [7]
