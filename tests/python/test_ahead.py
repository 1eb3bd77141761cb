"""Modules compiled ahead of time, loaded by another process with an empty cache."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, typing
import warp as wp

wp.config.quiet = True

@wp.func
def power(x: float):
    return x * x * {factor}

@wp.kernel
def first(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = power(x[i])

@wp.kernel
def generic(x: wp.array[typing.Any]):
    x[0] = x[0] + x[0]

wp.overload(generic, [wp.array[wp.float64]])
what, folder = sys.argv[1:]
if what == "compile":
    print(*wp.compile_aot_module(__name__, "cpu", module_dir=folder))
else:
    if what == "load":
        wp.load_aot_module(__name__, "cpu", module_dir=folder)
    x = wp.array([1.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(first, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={{y: wp.ones_like(y)}})
    d = wp.array([2.0], dtype=wp.float64)
    wp.launch(generic, dim=1, inputs=[d])
    print(y.list(), x.grad.list(), d.list())
    print(first._times()[1], first._times(adjoint=True)[1])
"""


def run(tmp_path, what, factor="1.0", cache="cache", fails=False):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(factor=factor))
    environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / cache)}
    done = subprocess.run(
        [sys.executable, program, what, str(tmp_path / "made")], capture_output=True, text=True, env=environment
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout.splitlines()


def test_a_folder_serves_another_process(tmp_path):
    (index,) = run(tmp_path, "compile")
    assert index.endswith(".json") and os.path.basename(index).startswith("wp___main___")
    with open(index) as file:
        found = json.load(file)
    assert found["module"] == "__main__" and found["kernels"] == {"first": 1, "generic": 1}

    values = "[1.0, 9.0] [2.0, 6.0] [4.0]"
    assert run(tmp_path, "plain", cache="other") == [values, "False False"]
    assert run(tmp_path, "load", cache="empty") == [values, "True True"]


def test_what_has_changed_is_not_loaded(tmp_path):
    run(tmp_path, "compile")
    assert "was not compiled ahead of time into" in run(tmp_path, "load", factor="2.0", fails=True)


def test_without_a_hash_what_has_changed_is_compiled_anew(tmp_path):
    import warp as wp

    module = wp.Module("stripped")

    @wp.kernel(module=module)
    def kernel(x: wp.array[float]):
        x[0] = 1.0

    (index,) = wp.compile_aot_module(module, module_dir=tmp_path, strip_hash=True)
    assert index.name.startswith("wp_stripped.")
    before = index.read_text()

    @wp.kernel(module=module)
    def other(x: wp.array[float]):
        x[0] = 2.0

    wp.load_aot_module(module, module_dir=tmp_path, strip_hash=True)
    assert index.read_text() == before
    x = wp.zeros(1)
    for each, value in ((kernel, 1), (other, 2)):
        wp.launch(each, dim=1, inputs=[x])
        assert x.list() == [value]


@pytest.mark.host("PTX is for later machines, too")
def test_a_warning_tells_that_code_is_for_this_processor(tmp_path):
    import warp as wp

    lines = []

    class Recorder:
        debug = info = error = lambda self, message: None

        def warning(self, message, category=None, stacklevel=1):
            lines.append(message)

    with wp.ScopedLogger(Recorder()):
        wp.compile_aot_module(wp.Module("told"), module_dir=tmp_path)
    assert "-march=native" in lines[0] and "cpu_compiler_flags=''" in lines[0]


def test_a_folder_that_cannot_be_written(tmp_path):
    import warp as wp

    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        wp.compile_aot_module(wp.Module("nowhere"), module_dir=tmp_path / "file")
