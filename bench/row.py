"""What a row of the benchmark is: data about a subject, and the check of its results against float64.

A subject is a function of sizes that returns a Subject: launches written once for every device, and the same formula in
NumPy. Rows run it forward, or with its gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from problem import Problem, random

import warp as wp


@dataclass
class Subject:
    launches: Callable[[], None]  # the work, from a clean start
    inputs: list  # arrays
    output: Any  # array
    reference: Callable  # (values of the inputs as float64) -> values of the output
    tolerance: float = 1e-5  # relative to the largest value
    constants: list = field(default_factory=list)  # NumPy arrays that other libraries need besides
    outliers: float = 0.0  # the share of values that may lie beyond it: a rounding decides how often they turn


@dataclass
class Work:
    """`run()` does the work once, and returns the seconds it took where the clock of the caller would tell less."""

    run: Callable[[], float | None]
    check: Callable[[], None] = lambda: None  # after one run; raises AssertionError
    problem: Problem | None = None  # for other libraries


@dataclass
class Row:
    name: str
    make: Callable[..., Work]
    sizes: dict = field(default_factory=dict)
    gate: float | None = None  # what the ratio to Warp has to reach on the CPU
    amount: float = 0.0  # of `unit` in one run
    unit: str = "s"
    probe: str | None = None  # the figure of probe.cpp in the same unit
    rounds: int | None = None  # fewer where one run takes seconds
    gates: dict = field(default_factory=dict)  # the same for other libraries, by name


def exact(array):
    return array.numpy().astype(np.float64)


def forward(subject):
    def make(**sizes):
        made = subject(**sizes)
        # Inputs that are written: as they were.
        inputs = [x.numpy().copy() for x in made.inputs]
        wanted = made.reference(*[x.astype(np.float64) for x in inputs])
        problem = Problem(inputs + made.constants, wanted, made.tolerance, made.outliers)
        return Work(made.launches, lambda: problem.check(made.output.numpy()), problem)

    return make


def _directional(reference, inputs, directions, weights, step=1e-6):
    def along(t):
        return np.sum(weights * reference(*[x + t * d for x, d in zip(inputs, directions, strict=True)]))

    return (along(step) - along(-step)) / (2 * step)


def _gradient_check(made, seed):
    """What checks the gradients against central differences of the reference in float64, along one direction."""
    inputs = [exact(x) for x in made.inputs]
    scale = [np.abs(x).max() or 1.0 for x in inputs]
    directions = [s * (random(*x.shape, seed=5 + k) - 0.5) for k, (x, s) in enumerate(zip(inputs, scale, strict=True))]
    wanted = _directional(made.reference, inputs, directions, exact(seed))

    def check():
        terms = [exact(x.grad) * d for x, d in zip(made.inputs, directions, strict=True)]
        # Against the sum of sizes: in the sum itself much may cancel.
        found, size = sum(t.sum() for t in terms), sum(np.abs(t).sum() for t in terms)
        worst = abs(found - wanted) / size
        assert worst <= 1e-4, f"the gradient is off by {worst:.2g} of its terms, allowed are 1e-4"

    return check


def _seed(output):
    # Not ones: sums of forces between bodies would have no gradient.
    return wp.array(random(*output.numpy().shape, seed=9), dtype=output.dtype)


def backward(subject):
    """The tape's backward pass, again and again; gradients add up, so what is checked is the first run's."""

    def make(**sizes):
        made = subject(**sizes)
        tape, seed = wp.Tape(), _seed(made.output)
        check = _gradient_check(made, seed)
        with tape:
            made.launches()
        return Work(lambda: tape.backward(grads={made.output: seed}), check)

    return make


def gradient(subject):
    """A step of an optimiser: recorded, run backwards, gradients cleared before the next."""

    def make(**sizes):
        made = subject(**sizes)
        seed, old = _seed(made.output), []
        check = _gradient_check(made, seed)

        def run():
            for tape in old:
                tape.zero()
            old[:] = [wp.Tape()]
            with old[0]:
                made.launches()
            old[0].backward(grads={made.output: seed})

        return Work(run, check)

    return make
