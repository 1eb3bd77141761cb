"""Captures in files: what is replayed in another process is the same work in NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from support.fabric import interface

import warp as wp

pytestmark = pytest.mark.host("graphs of GPUs cannot be saved")


@wp.kernel
def scale(x: wp.array[float], out: wp.array[float], s: float):
    i = wp.tid()
    out[i] = x[i] * s


@wp.struct
class Body:
    mass: float
    at: wp.array[wp.vec3]
    rows: wp.array2d[float]


@wp.kernel
def move(body: Body, by: wp.vec3):
    i = wp.tid()
    body.at[i] += by * body.mass
    body.rows[i, 1] = float(i)


@wp.kernel
def pick(x: wp.indexedarray[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = x[i] + 1.0


@wp.kernel
def count_down(n: wp.array[int], steps: wp.array[int]):
    n[0] -= 1
    steps[0] += 2


@wp.kernel
def of_address(address: wp.uint64):
    there = wp.array(ptr=address, shape=(1,), dtype=float)
    there[0] = 1.0


def saved(path, named, work):
    with wp.ScopedCapture(device="cpu", apic=True) as capture:
        work()
    wp.capture_save(capture.graph, path, outputs=named)
    return capture.graph


REPLAY = """
import sys, numpy as np, warp as wp
graph = wp.capture_load(sys.argv[1], device="cpu")
for _ in range(int(sys.argv[2])):
    wp.capture_launch(graph)
np.savez(sys.argv[3], **{name: a.numpy() for name, a in ((n, wp.empty(p["shape"], dtype=%s[n])) for n, p in
    graph.params.items()) if graph.get_param(name, a) is None})
assert "libweft_codegen" not in open("/proc/self/maps").read(), "something was compiled"
"""


def replayed(path, tmp_path, named, times=1):
    """What the arrays hold in another process that has no cache, by name."""
    dtypes = "{" + ", ".join(f"{n!r}: wp.{a.dtype.__name__}" for n, a in named.items()) + "}"
    out = tmp_path / "out.npz"
    environment = dict(os.environ, WARP_CACHE_PATH=str(tmp_path / "no cache"))
    command = [sys.executable, "-c", REPLAY % dtypes, str(path), str(times), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(out)


def test_another_process_replays_every_kind_of_step(tmp_path):
    x = wp.array(np.arange(6, dtype=np.float32))
    out, low, sums = wp.zeros(6), wp.zeros(3), wp.zeros(6)
    at, rows = wp.zeros(2, dtype=wp.vec3), wp.ones((2, 3))
    body = Body()
    body.mass, body.at, body.rows = 2.0, at, rows
    keys, values = wp.array([3, 1, 2, 0, 0, 0], dtype=int), wp.array([30, 10, 20, 0, 0, 0], dtype=int)
    n, steps = wp.array([3], dtype=int), wp.zeros(1, dtype=int)
    total, ways = wp.zeros(1), wp.zeros(2)
    named = {"x": x, "out": out, "low": low, "sums": sums, "at": at, "rows": rows}
    named |= {"values": values, "steps": steps, "total": total, "ways": ways}

    def work():
        wp.launch(scale, dim=3, inputs=[x, out, 2.0])
        wp.launch(scale, dim=3, inputs=[x[3:], out[3:], 3.0])  # views of the same memory
        wp.launch(move, dim=2, inputs=[body, wp.vec3(1.0, 2.0, 3.0)])
        wp.launch(pick, dim=3, inputs=[x[wp.array([5, 0, 2], dtype=int)], low])
        wp.utils.array_scan(out, sums, inclusive=True)
        wp.utils.radix_sort_pairs(keys, values, 3)
        wp.utils.array_sum(out, out=total)
        wp.capture_while(n, lambda: wp.launch(count_down, dim=1, inputs=[n, steps]))
        wp.capture_if(steps, on_true=lambda: ways[:1].fill_(7.0), on_false=lambda: ways.fill_(1.0))
        wp.copy(x, out, count=1)
        x[5:].fill_(9.0)

    path = tmp_path / "work"
    graph = saved(path, named, work)
    found = replayed(path, tmp_path, named, times=2)
    wp.capture_launch(graph)
    wp.capture_launch(graph)
    for name, array in named.items():
        assert np.array_equal(found[name], array.numpy()), name
    once = np.array([0, 1, 2, 3, 4, 9], dtype=np.float32)
    twice = once * np.array([2, 2, 2, 3, 3, 3], dtype=np.float32)
    assert found["out"].tolist() == twice.tolist() and found["sums"].tolist() == np.cumsum(twice).tolist()
    assert found["low"].tolist() == [10, 1, 3] and found["total"].tolist() == [twice.sum()]
    assert found["at"].tolist() == [[4, 8, 12]] * 2 and found["rows"].tolist() == [[1, 0, 1], [1, 1, 1]]
    assert found["values"].tolist()[:3] == [10, 20, 30]
    assert found["steps"].tolist() == [6] and found["ways"].tolist() == [7, 0]


def test_arrays_are_set_and_read_by_name(tmp_path):
    a, b = wp.array([1.0, 2.0], dtype=float), wp.zeros(2)
    with wp.ScopedCapture(device="cpu", apic=True) as capture:
        inside = wp.zeros(2)
        wp.launch(scale, dim=2, inputs=[a, inside, 2.0])
        wp.launch(scale, dim=2, inputs=[inside, b, 5.0])
    wp.capture_save(capture.graph, str(tmp_path / "g.wrp"), inputs={"a": a}, outputs={"b": b})
    content = (tmp_path / "g.wrp").read_bytes()
    a.zero_()  # the file has what was there
    for graph in (wp.capture_load(tmp_path / "g"), wp.capture_load_from_bytes(content, device="cpu")):
        assert graph.is_loaded and {n: p["size"] for n, p in graph.params.items()} == {"a": 8, "b": 8}
        wp.capture_launch(graph)
        got = wp.zeros(2)
        graph.get_param("b", got)
        assert got.list() == [10, 20]
        graph.set_param("a", wp.array([[3.0], [4.0]], dtype=float))  # so many elements, in another shape
        wp.capture_launch(graph)
        graph.get_param("b", got)
        assert got.list() == [30, 40] and b.list() == [0, 0]
        assert graph.get_param_ptr("a") and graph.get_param_ptr("c") is None
        wp.capture_save(graph, tmp_path / "again")
    again = wp.capture_load(tmp_path / "again")
    wp.capture_launch(again)
    again.get_param("b", got)
    assert got.list() == [30, 40]


def test_gradients_are_replayed(tmp_path):
    x, out = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, requires_grad=True)
    seed = wp.array([1.0, 10.0], dtype=float)

    def work():
        with wp.Tape() as tape:
            wp.launch(scale, dim=2, inputs=[x, out, 4.0])
        tape.backward(grads={out: seed})

    named = {"grad": x.grad}
    saved(tmp_path / "g", named, work)
    assert replayed(tmp_path / "g", tmp_path, named)["grad"].tolist() == [4, 40]


def test_memory_that_overlaps_stays_one(tmp_path):
    memory = np.arange(4, dtype=np.float32)
    whole = wp.array(memory, dtype=float, copy=False)
    part = wp.array(memory[1:3], dtype=float, copy=False)
    named = {"whole": whole}
    saved(tmp_path / "g", named, lambda: part.fill_(8.0))
    assert replayed(tmp_path / "g", tmp_path, named)["whole"].tolist() == [0, 8, 8, 3]


def test_what_cannot_be_saved_is_refused_by_name(tmp_path):
    fabric = wp.fabricarray(interface(np.zeros(3, dtype=np.float32), [1, 2]), "a")
    place = wp.zeros(1)

    @wp.kernel
    def of_fabric(x: wp.fabricarray[float]):
        x[wp.tid()] = 1.0

    for work, why in [
        (lambda: wp.launch(of_address, dim=1, inputs=[place.ptr]), "'of_address' makes an array of an address"),
        (lambda: wp.launch(of_fabric, dim=3, inputs=[fabric]), "argument 'x' of kernel .*of_fabric.* hold arrays"),
    ]:
        with pytest.raises(NotImplementedError, match=why):
            saved(tmp_path / "no", {}, work)
    assert not list(tmp_path.iterdir())
    with wp.ScopedCapture(device="cpu") as capture:
        place.fill_(1.0)
    with pytest.raises(RuntimeError, match="apic=True"):
        wp.capture_save(capture.graph, tmp_path / "no")
    with pytest.raises(TypeError, match="'a' is to name an array, found int"):
        saved(tmp_path / "no", {"a": 3}, lambda: None)


def test_numbers_are_not_returned_while_nothing_runs():
    values, ints = wp.array([1.0, 2.0], dtype=float), wp.array([1, 1], dtype=int)
    with wp.ScopedCapture(device="cpu"):
        for work in (
            lambda: wp.utils.array_sum(values),
            lambda: wp.utils.array_inner(values, values),
            lambda: wp.utils.runlength_encode(ints, wp.zeros(2, dtype=int), wp.zeros(2, dtype=int)),
        ):
            with pytest.raises(NotImplementedError, match="pass an explicit"):
                work()
        assert wp.utils.runlength_encode(ints, wp.empty(2, dtype=int), wp.empty(2, dtype=int), value_count=0) == 0
    with pytest.raises(RuntimeError, match="negative count: -1"):
        wp.utils.array_sum(values, value_count=-1)


def test_files_that_are_no_captures(tmp_path):
    a = wp.zeros(2)
    saved(tmp_path / "g", {"a": a}, lambda: wp.launch(scale, dim=2, inputs=[a, a, 2.0]))
    content = (tmp_path / "g.wrp").read_bytes()
    damaged = content[:-9] + b"?" + content[-8:]
    for wrong, why in [(b"", "does not begin"), (content[:-1], "damaged"), (damaged, "damaged")]:
        with pytest.raises(RuntimeError, match=why):
            wp.capture_load_from_bytes(wrong, device="cpu")
    with pytest.raises(RuntimeError, match="No such file"):
        wp.capture_load(tmp_path / "none")
    graph = wp.capture_load(tmp_path / "g", device="cpu")
    for value, error, why in [
        (wp.zeros(3), RuntimeError, "found .3,."),
        (wp.zeros(2, dtype=int), RuntimeError, "i32"),
        (np.zeros(2), TypeError, "Expected a Warp array"),
    ]:
        with pytest.raises(error, match=why):
            graph.set_param("a", value)
    with pytest.raises(RuntimeError, match="no parameter 'b'; its parameters: a"):
        graph.get_param("b", a)


@wp.func_native("return x + (float)blockDim.x * 0.0f + 1.0f;")
def plus_one(x: float) -> float: ...


@wp.kernel
def native(x: wp.array[float]):
    i = wp.tid()
    x[i] = plus_one(x[i])


def test_native_snippets_are_saved_compiled(tmp_path):
    x = wp.array([1.0, 2.0], dtype=float)
    saved(tmp_path / "g", {"x": x}, lambda: wp.launch(native, dim=2, inputs=[x]))
    assert replayed(tmp_path / "g", tmp_path, {"x": x}, times=3)["x"].tolist() == [4, 5]
