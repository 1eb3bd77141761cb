"""The harness of bench/: rows at small sizes, other libraries on the same data, and what it reports."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warp as wp

pytestmark = pytest.mark.host
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench():
    """bench/ as its processes see it."""
    added = [str(ROOT / "bench"), str(ROOT)]
    sys.path[:0] = added
    yield importlib.import_module
    for path in added:
        sys.path.remove(path)


SMALL = {
    "saxpy_2^14": {"n": 1000},
    "normalise_2^23": {"n": 1000},
    "copy_2^24": {"n": 1000},
    "fields_19_2^20": {"n": 1000},
    "transpose_4096": {"n": 50},
    "matrices_2^19": {"n": 200},
    "transcendental_2^22": {"n": 1000},
    "divergent_2^21": {"n": 1000},
    "nbody_8192": {"n": 200},
    "one_address_4096": {"n": 60},
    "scatter_10k": {"n": 1000, "targets": 30},
    "scan_2^24": {"n": 1000},
    "sort_2^22": {"n": 1000},
    "stencil_2048": {"n": 40},
    "mpm_64k": {"n": 500, "cells": 16},
    "mpm_2d_64k": {"n": 500, "cells": 16},
    "sph_8192": {"n": 600},
    "cloth_128x16": {"side": 12, "substeps": 3},
}


@pytest.mark.parametrize("name", SMALL)
def test_rows_and_what_numpy_makes_of_them(bench, name, tmp_path):
    row = bench("subjects").ROWS[name]
    work = row.make(**{**row.sizes, **SMALL[name]})
    work.run()
    wp.synchronize()
    work.check()
    work.problem.save(tmp_path / "problem.npz")
    problem = bench("problem").Problem.load(tmp_path / "problem.npz")
    with pytest.raises(AssertionError):
        problem.check(problem.wanted + 0.01 * np.abs(problem.wanted).max())
    make = bench("peers").maker(bench("peers.with_numpy"), name)
    if make is not None:
        run, output = make(*problem.inputs)
        run()
        problem.check(output())
        before = np.array(output())
        run()
        run()
        # What is timed is the same work again, unless the row goes on from what it has.
        assert name.startswith("saxpy") or np.array_equal(output(), before)


def test_results_are_checked(bench):
    problem = bench("problem").Problem([], np.array([1.0, -4.0]), tolerance=1e-3)
    problem.check(np.array([1.003, -4.0], dtype=np.float32))
    for wrong in ([1.005, -4.0], [np.nan, -4.0], [1.0], [[1.0, -4.0]]):
        with pytest.raises(AssertionError):
            problem.check(np.array(wrong))


def test_ratios_are_of_rounds(bench):
    main = bench("bench.__main__")
    row = bench("row").Row("it", None, gate=2.0, amount=6.0, unit="GB/s", probe="copy", gates={"numba": 4.0})
    # The third round was disturbed, for both sides.
    times = {
        "this": [(1.0, 2.0), (1.0, 2.0), (5.0, 2.0), (1.0, 2.0)],
        "warp": [(3.0, 3.0), (3.0, 3.0), (15.0, 3.0), (3.0, 3.0)],
        "numba": [(2.0, 4.0)] * 4,
    }
    found = main.figures(row, times, {"copy": 12.0})
    assert found["seconds"] == 1.0 and found["achieved"] == 6.0 and found["of_probe"] == 0.5
    assert found["peers"]["warp"]["ratio"] == 3.0 and found["peers"]["warp"]["spread"] == 0.0
    assert found["peers"]["warp"]["cpu_ratio"] == 1.5
    assert found["peers"]["numba"]["ratio"] == 2.0 and found["peers"]["numba"]["cpu_ratio"] == 2.0
    text = main.line(found, ["warp", "torch", "numba"])
    assert "3.00/2 " in text and "2.00/4! " in text


def run_bench(*words, **environment):
    command = [sys.executable, "-m", "bench", "--rounds", "3", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_run_with_peers(tmp_path):
    (tmp_path / "jax.py").write_text("raise ImportError('no jax here')\n")
    paths = {"json": tmp_path / "out.json", "plot": tmp_path / "out.png"}
    done = run_bench(
        "saxpy_2^14",
        "launch_9",
        *("--peer", sys.executable),
        *("--peer", "numpy"),
        *("--peer", f"jax={sys.executable}"),
        *("--json", str(paths["json"]), "--plot", str(paths["plot"])),
        PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
    )
    assert done.returncode == 0, done.stderr
    assert "jax is left out: no jax here" in done.stdout
    saxpy, launch = json.loads(paths["json"].read_text())["rows"]
    assert saxpy["row"] == "saxpy_2^14" and set(saxpy["peers"]) == {"warp", "numpy"}
    assert launch["row"] == "launch_9" and set(launch["peers"]) == {"warp"}
    for row in (saxpy, launch):
        assert row["seconds"] > 0 and row["achieved"] > 0
        assert all(peer["ratio"] > 0 and peer["spread"] >= 0 for peer in row["peers"].values())
    assert paths["plot"].read_bytes().startswith(b"\x89PNG")


def test_what_is_refused():
    done = run_bench("launch_9", "--peer", "fortran=python3")
    assert done.returncode == 1 and "'fortran' is no library with rows; there are warp, jax, numba" in done.stderr
    done = run_bench("lunch")
    assert done.returncode == 1 and "no row is called 'lunch'" in done.stderr


def test_instructions_are_those_of_the_work_alone(bench, monkeypatch):
    instructions, rows = bench("instructions"), bench("subjects").ROWS
    asked = []

    def of_process(name, threads, runs):
        asked.append((name, threads, runs))
        return 123_456 + 5 * 2**20 * runs

    monkeypatch.setattr(instructions, "_of_process", of_process)
    row = rows["one_address_4096"]
    figures = instructions.counted(row, 1)
    assert figures == {"run": 5 * 2**20, "unit": 5 * 2**20 / (4 * 4096**2)}
    assert asked[0] == (row.name, 1, 0) and {runs for _, _, runs in asked} == {0, instructions.RUNS}
    assert instructions.line(row, figures).split() == [row.name, "5,242,880", "a", "run", "0.07812", "a", "B"]
    assert instructions.counted(rows["cloth_128x16"], 1)["unit"] is None
    assert instructions.counted(rows["warm_start_50"], 1) is None
    assert "other processes" in instructions.line(rows["warm_start_50"], None)
