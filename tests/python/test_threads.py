"""Several threads and processes at once, forks, and processes that are killed while they compile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import warp as wp


def make_kernel(k):
    """A kernel that no other call makes: its constant is in the code."""
    factor = float(k) + 0.5

    @wp.kernel(name=f"scale_{k}", module="unique")
    def scale(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[i] * factor

    return scale, factor


def check(kernel, factor, n=1000):
    a, o = wp.array(np.arange(n), dtype=float), wp.zeros(n, dtype=float)
    wp.launch(kernel, dim=n, inputs=[a, o])
    assert np.array_equal(o.numpy(), np.arange(n, dtype=np.float32) * np.float32(factor))


def in_threads(count, function):
    failures = []

    def body(i):
        try:
            function(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert failures == []


def test_threads_compile_and_launch_different_kernels():
    kernels = [make_kernel(k) for k in range(16)]
    in_threads(16, lambda i: [check(*kernels[i]) for _ in range(20)])


def test_threads_share_the_first_launch_of_one_kernel():
    kernel, factor = make_kernel(100)
    in_threads(8, lambda _: check(kernel, factor))


def test_a_thread_launches_while_another_one_compiles():
    ready, factor = make_kernel(200)
    check(ready, factor)
    stop = threading.Event()
    launches = [0]

    def launch():
        while not stop.is_set():
            check(ready, factor, 10)
            launches[0] += 1

    thread = threading.Thread(target=launch)
    thread.start()
    for k in range(201, 206):
        check(*make_kernel(k))
    stop.set()
    thread.join()
    assert launches[0] > 0


def test_threads_record_no_gradients_of_each_other_by_accident():
    @wp.kernel(module="unique")
    def square(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[i] * a[i]

    def body(i):
        a, o = wp.array([float(i)], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
        o.grad.fill_(1.0)
        wp.launch(square, dim=1, inputs=[a], outputs=[o], adjoint=True)
        assert a.grad.numpy()[0] == 2.0 * i

    in_threads(8, body)


def program(body):
    return textwrap.dedent(
        """
        import os, sys, time
        import numpy as np
        import warp as wp

        K = int(sys.argv[1]) if len(sys.argv) > 1 else 0
        FACTOR = float(K) + 0.25

        @wp.kernel
        def scale(a: wp.array(dtype=float), o: wp.array(dtype=float)):
            i = wp.tid()
            x = a[i]
            for _ in range(8):
                x = wp.sin(x) * FACTOR + wp.cos(x * 0.5)
            o[i] = x

        def check():
            a, o = wp.array(np.arange(100), dtype=float), wp.zeros(100, dtype=float)
            wp.launch(scale, dim=100, inputs=[a, o])
            x = np.arange(100, dtype=np.float64)
            for _ in range(8):
                x = np.sin(x) * FACTOR + np.cos(x * 0.5)
            assert np.allclose(o.numpy(), x, rtol=1e-2, atol=1e-2), o
        """
    ) + textwrap.dedent(body)


def run(path, *arguments, cache, **options):
    environment = {**os.environ, "WARP_CACHE_PATH": str(cache)}
    return subprocess.Popen([sys.executable, str(path), *map(str, arguments)], env=environment, **options)


@pytest.fixture
def script(tmp_path):
    def write(body):
        path = tmp_path / "program.py"
        path.write_text(program(body))
        return path

    return write


def test_eight_processes_share_a_cache(script, tmp_path):
    path = script("check()\n")
    processes = [run(path, i % 2, cache=tmp_path / "cache") for i in range(8)]
    assert [p.wait(120) for p in processes] == [0] * 8
    assert len(list((tmp_path / "cache").rglob("*"))) >= 2


def test_a_process_killed_while_it_compiles_leaves_a_working_cache(script, tmp_path):
    path = script("print('go', flush=True)\ncheck()\n")
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02):
        process = run(path, cache=tmp_path / "cache", stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert run(path, cache=tmp_path / "cache").wait(120) == 0


def test_a_cache_folder_that_cannot_be_written(script, tmp_path):
    path = script("check()\n")
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert run(path, cache=file).wait(120) == 0
    assert run(path, cache="/proc/no/such/folder").wait(120) == 0
    readonly = tmp_path / "readonly"
    assert run(path, cache=readonly).wait(120) == 0
    readonly.chmod(0o500)
    try:
        assert run(path, 0, cache=readonly).wait(120) == 0  # from the cache
        assert run(path, 1, cache=readonly).wait(120) == 0  # compiled, not kept
    finally:
        readonly.chmod(0o700)


def test_a_cache_full_of_garbage(script, tmp_path):
    path, cache = script("check()\n"), tmp_path / "cache"
    assert run(path, cache=cache).wait(120) == 0
    files = [f for f in cache.rglob("*") if f.is_file()]
    assert files
    for i, file in enumerate(files):
        data = file.read_bytes()
        file.write_bytes([b"", data[: len(data) // 2], b"\0" * len(data), os.urandom(len(data))][i % 4])
    assert run(path, cache=cache).wait(120) == 0
    assert run(path, cache=cache).wait(120) == 0
    for file in files:
        file.write_bytes(os.urandom(5000))
    (cache / "rubbish").write_bytes(b"\xff" * 100)
    assert run(path, cache=cache).wait(120) == 0


def test_a_process_may_end_while_it_compiles(script, tmp_path):
    path = script("scale._load(wait=False)\ntime.sleep(K / 1000)\n")
    for delay in (0, 0, 0, 1, 2, 4, 8):
        assert run(path, delay, cache=tmp_path / f"cache{delay}").wait(120) == 0


FORKED = """
wp.set_device("cpu")  # a GPU's driver does not outlive a fork

def child():
    check()
    @wp.kernel(module="unique")
    def other(o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = float(i) + FACTOR
    o = wp.zeros(100000, dtype=float)
    wp.launch(other, dim=100000, inputs=[o])
    assert np.array_equal(o.numpy(), np.arange(100000, dtype=np.float32) + np.float32(FACTOR))
    os._exit(0)

if K:
    check()
    o = wp.zeros(100000, dtype=float)
    o += 1.0  # starts the workers
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(1)
    children.append(pid)
codes = [os.waitpid(pid, 0)[1] for pid in children]
check()
sys.exit(0 if codes == [0, 0, 0] else 1)
"""


@pytest.mark.parametrize("launched_before", [0, 1])
def test_forked_children_launch_and_compile(script, tmp_path, launched_before):
    path = script(FORKED)
    assert run(path, launched_before, cache=tmp_path / "cache").wait(120) == 0


@wp.kernel
def add_own(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)
    wp.atomic_add(b, i, 1.0)


# Plain additions are allowed on elements of an item's own: not where arrays overlap, elements are shared by a stride of
# zero, or the launch has a dimension more.
def test_additions_to_own_elements_are_not_lost():
    n = 200_000
    before = wp.config.cpu_threads
    wp.config.cpu_threads = 4
    try:
        for _ in range(3):
            a, b = wp.zeros(n, dtype=float), wp.zeros(n, dtype=float)
            wp.launch(add_own, dim=n, inputs=[a, b])
            assert a.numpy().min() == a.numpy().max() == b.numpy().min() == b.numpy().max() == 1.0
            wp.launch(add_own, dim=(n, 5), inputs=[a, b])
            assert a.numpy().min() == a.numpy().max() == b.numpy().min() == b.numpy().max() == 6.0
            wide = wp.zeros(n + 1, dtype=float)
            wp.launch(add_own, dim=n, inputs=[wide[:-1], wide[1:]])
            assert wide.numpy().sum() == 2 * n
            one = wp.zeros(1, dtype=float)
            same = wp.array(ptr=one.ptr, dtype=float, shape=n, strides=(0,), copy=False)
            wp.launch(add_own, dim=n, inputs=[same, b])
            assert one.numpy()[0] == n
    finally:
        wp.config.cpu_threads = before
