"""Counts the instructions of a row's work with valgrind, which other programs do not disturb. It has no AVX-512: what
is counted is the code for AVX2."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = 20  # what a process does besides differs by some 100,000 instructions
FACTORS = {"G": 1e9, "M": 1e6, "k": 1e3}


def is_there():
    return shutil.which("valgrind") is not None


def _of_process(name, threads, runs):
    """Instructions of a process that prepares a row and does its work so many times more."""
    commands = [f"threads {threads}", f"row {name}", *([f"time {runs}"] if runs else [])]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*valgrind, sys.executable, HERE / "worker.py"],
        input="".join(command + "\n" for command in commands),
        env={**os.environ, "PYTHONHASHSEED": "0"},
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    answers = done.stdout.splitlines()
    if len(answers) < len(commands) or any(answer.startswith("wrong") for answer in answers):
        raise SystemExit(f"bench: {name} under valgrind: {', '.join(answers)}")
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def counted(row, threads):
    """{"run": instructions of the row's work, "unit": of an item or byte, or None}; None where other processes do
    the work."""
    if row.rounds:
        return None
    _of_process(row.name, threads, 0)  # fills the cache of kernels for this processor
    before = _of_process(row.name, threads, 0)
    run = (_of_process(row.name, threads, RUNS) - before) / RUNS
    items = row.amount * FACTORS.get(row.unit[:1], 1) if row.amount and row.amount != 1 else None
    return {"run": run, "unit": run / items if items else None}


def line(row, figures):
    if figures is None:
        return f"{row.name:24}  its work is done by other processes"
    unit = row.unit.removesuffix("/s")
    of_unit = f"{figures['unit']:12.4g} a {unit.lstrip('GMk') or 'item'}" if figures["unit"] else ""
    return f"{row.name:24}{figures['run']:16,.0f} a run{of_unit}"
