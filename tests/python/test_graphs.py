"""Captures on the CPU: work is recorded and replayed without Python; the reference is the same work in NumPy."""

import numpy as np
import pytest
from support.fabric import interface

import warp as wp


@wp.kernel
def add(x: wp.array[float], y: float, out: wp.array[float]):
    i = wp.tid()
    out[i] += x[i] + y


@wp.kernel
def count_down(n: wp.array[int], steps: wp.array[int]):
    n[0] -= 1
    steps[0] += 1


def test_nothing_runs_until_it_is_launched():
    x, out = wp.array([1.0, 2.0], dtype=float), wp.zeros(2)
    with wp.ScopedCapture() as capture:
        assert wp.get_device().is_capturing
        wp.launch(add, dim=2, inputs=[x, 10.0], outputs=[out])
        x.fill_(5.0)
        wp.copy(x, out, count=1)
    assert not wp.get_device().is_capturing
    assert out.list() == [0, 0] and x.list() == [1, 2]
    expected_x, expected = np.array([1.0, 2.0]), np.zeros(2)
    for _ in range(3):
        wp.capture_launch(capture.graph)
        expected += expected_x + 10
        expected_x[:] = 5
        expected_x[0] = expected[0]
        assert out.list() == expected.tolist() and x.list() == expected_x.tolist()


def test_what_is_recorded_keeps_its_arguments_alive():
    out = wp.zeros(2)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=2, inputs=[wp.array([1.0, 2.0], dtype=float), 0.0], outputs=[out])
        made = out + 1.0
    junk = [wp.full(2, 99.0) for _ in range(50)]
    wp.capture_launch(capture.graph)
    assert out.list() == [1, 2] and made.list() == [2, 3] and len(junk) == 50


def test_scalars_are_as_they_were():
    out, values = wp.zeros(1), [1.0]
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=1, inputs=[wp.zeros(1), values[0]], outputs=[out])
    values[0] = 7.0
    wp.capture_launch(capture.graph)
    assert out.list() == [1]


@pytest.mark.parametrize("value, way", [(1, 2), (0, 3)])
def test_branches_are_decided_when_they_are_replayed(value, way):
    condition, out = wp.zeros(1, dtype=int), wp.zeros(1)
    branches = {"on_true": lambda: out.fill_(2.0), "on_false": lambda: out.fill_(3.0)}
    with wp.ScopedCapture() as capture:
        wp.capture_if(condition, **branches)
    condition.fill_(value)
    wp.capture_launch(capture.graph)
    assert out.list() == [way]
    out.zero_()
    wp.capture_if(condition, **branches)  # outside of a capture: now
    assert out.list() == [way]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_loops_run_while_their_condition_holds(turns):
    n, steps = wp.array([turns], dtype=int), wp.zeros(1, dtype=int)

    def body(n, steps):
        wp.launch(count_down, dim=1, inputs=[n], outputs=[steps])

    with wp.ScopedCapture() as capture:
        wp.capture_while(n, body, n=n, steps=steps)
    for repeat in (1, 2):
        n.fill_(turns)
        wp.capture_launch(capture.graph)
        assert (n.list(), steps.list()) == ([0], [turns * repeat])
    n.fill_(turns)
    wp.capture_while(n, body, n=n, steps=steps)
    assert steps.list() == [3 * turns]


def test_graphs_are_parts_of_graphs():
    out = wp.zeros(1)
    with wp.ScopedCapture() as inner:
        out += 1.0
    with wp.ScopedCapture() as outer:
        wp.capture_launch(inner.graph)
        wp.capture_launch(inner.graph)
        wp.capture_if(wp.ones(1, dtype=int), on_true=inner.graph)
    wp.capture_launch(outer.graph)
    # The condition's content is made by the graph too, as every fill inside it.
    assert out.list() == [3]


def indexed():
    data = wp.zeros(6)
    return data[wp.array([4, 1, 3], dtype=int)]


def fabric():
    return wp.fabricarray(interface(np.zeros(3, dtype=np.float32), [1, 2]), "a")


def indexed_fabric():
    return wp.fabricarray(interface(np.zeros(6, dtype=np.float32), [4, 2]), "a")[wp.array([5, 0, 2], dtype=int)]


@pytest.mark.parametrize("make", [indexed, fabric, indexed_fabric])
def test_arrays_of_every_kind_are_filled_and_copied(make):
    a, b, source = make(), make(), wp.array([1.0, 2.0, 3.0], dtype=float)
    plain = wp.zeros(3)
    with wp.ScopedCapture() as capture:
        wp.copy(a, source)
        wp.copy(b, a)
        wp.copy(plain, b)
        a.fill_(7.0)
        b.zero_()
    assert not a.numpy().any()
    source.assign([4.0, 5.0, 6.0])
    b.fill_(9.0)
    wp.capture_launch(capture.graph)
    assert plain.list() == [4, 5, 6]
    assert a.numpy().tolist() == [7, 7, 7] and b.numpy().tolist() == [0, 0, 0]


def test_copies_through_indices_have_derivatives():
    data = wp.array(np.arange(6, dtype=np.float32), requires_grad=True)
    picked = data[wp.array([4, 1, 4], dtype=int)]
    out, back = wp.zeros(3, requires_grad=True), wp.zeros(6, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(out, picked)
        wp.copy(back[wp.array([0, 2, 5], dtype=int)], out)
    assert out.list() == [4, 1, 4] and back.list() == [4, 0, 1, 0, 0, 4]
    tape.backward(grads={back: wp.array([1.0, 9.0, 10.0, 9.0, 9.0, 100.0], dtype=float)})
    assert data.grad.list() == [0, 10, 0, 0, 101, 0]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="not active"):
        wp.capture_end()
    with pytest.raises(TypeError, match="expected a graph, found int"):
        wp.capture_launch(3)
    with pytest.raises(TypeError, match="int32 with one element"):
        wp.capture_if(wp.zeros(1), on_true=None)
    wp.capture_begin()
    try:
        with pytest.raises(RuntimeError, match="nested"):
            wp.capture_begin()
        with pytest.raises(wp.WarpLaunchError, match="negative"):
            wp.launch(add, dim=-1, inputs=[wp.zeros(1), 0.0, wp.zeros(1)])
    finally:
        wp.capture_end()


def test_an_error_inside_ends_the_capture():
    with pytest.raises(ZeroDivisionError), wp.ScopedCapture() as capture:
        1 / 0  # noqa: B018
    assert capture.graph is None and not wp.get_device("cpu").is_capturing
    out = wp.zeros(1)
    out.fill_(1.0)
    assert out.list() == [1]


def test_errors_of_kernels_come_when_they_run():
    wp.config.mode = "safe"
    try:

        @wp.kernel(module="unique")
        def beyond(x: wp.array[float]):
            x[wp.tid() + 3] = 1.0

        with wp.ScopedCapture() as capture:
            wp.launch(beyond, dim=1, inputs=[wp.zeros(2)])
        for _ in range(2):
            with pytest.raises(wp.WarpRuntimeError, match="index 3 is out of bounds"):
                wp.capture_launch(capture.graph)
                wp.synchronize()
    finally:
        wp.config.mode = "release"
