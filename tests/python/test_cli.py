"""`python -m warp`."""

import json
import os
import subprocess
import sys

import pytest

KERNEL = """
import warp as wp
from typing import Any

@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = a[i] * s

@wp.kernel
def generic(a: wp.array(dtype=Any)):
    i = wp.tid()
    a[i] = a[i] + a[i]
"""


@pytest.fixture
def warp_cli(tmp_path):
    (tmp_path / "kernels_of_cli.py").write_text(KERNEL)

    def run(*arguments, check=True):
        environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-m", "warp", *arguments], env=environment, capture_output=True, text=True, cwd=tmp_path
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if check else done

    return run


def test_info(warp_cli, tmp_path):
    out = warp_cli("info")
    assert "device cpu" in out and "backend llvm" in out and str(tmp_path / "cache") in out


@pytest.mark.parametrize("words", [[], ["cache"], ["dump"], ["bench"], ["bench", "compile"], ["info"]])
def test_help_everywhere(warp_cli, words):
    assert "usage: python -m warp" in warp_cli(*words, "--help")


@pytest.mark.parametrize(
    "kind, marks",
    [
        ("source-ir", "kernel @scale"),
        ("ir", "kernel @scale"),
        ("llvm", "define"),
        ("asm", ".text"),
        ("cxx", "weft_kernel_scale"),
        ("cuda", "__global__ void __launch_bounds__(1024) weft_kernel_scale("),
        ("maca", "// Weft: C++ for MACA"),
        ("ptx", ".target sm_75"),
    ],
)
def test_dump(warp_cli, kind, marks):
    assert marks in warp_cli("dump", "kernels_of_cli.py", "scale", "--kind", kind)


def test_dump_of_adjoints_and_instances(warp_cli):
    assert "scale.adjoint" in warp_cli("dump", "kernels_of_cli.py", "scale", "--adjoint")
    assert "array<f64, 1>" in warp_cli("dump", "kernels_of_cli.py", "generic", "--type", "array<f64, 1>")
    failed = warp_cli("dump", "kernels_of_cli.py", "missing", check=False)
    assert failed.returncode != 0 and "its kernels: generic, scale" in failed.stderr
    assert ".target sm_90" in warp_cli("dump", "kernels_of_cli.py", "scale", "--kind", "ptx", "--arch", "sm_90")
    failed = warp_cli("dump", "kernels_of_cli.py", "scale", "--kind", "hex", check=False)
    assert failed.returncode != 0 and "llvm" in failed.stderr


def test_bench_compile(warp_cli, tmp_path):
    out = warp_cli("bench", "compile", "--repeat", "1", "--json", "out.json")
    assert "first launch" in out
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["cached"]["from_cache"] is True and result["first"]["from_cache"] is False
    assert {"source", "lower", "emit", "optimize", "generate", "load"} <= set(result["first"]["stages"])


def test_bench_snippets(warp_cli, tmp_path):
    assert "first launch" in warp_cli("bench", "snippets", "--repeat", "1", "--json", "out.json")
    result = json.loads((tmp_path / "out.json").read_text())
    assert 0 < result["snippets"] < result["cpu"] and result["ptx"] > 0


def test_cache(warp_cli, tmp_path):
    assert warp_cli("cache", "size").startswith("0 bytes in 0 files")
    (tmp_path / "run.py").write_text(
        "import warp as wp, kernels_of_cli as k\n"
        "wp.set_device('cpu')\n"
        "wp.launch(k.scale, dim=1, inputs=[wp.zeros(1, dtype=float), 2.0])\n"
    )
    environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "run.py"], env=environment, cwd=tmp_path, check=True)
    assert len(warp_cli("cache", "list").splitlines()) == 1
    assert "1 files removed" in warp_cli("cache", "clear")
    assert warp_cli("cache", "list") == ""
