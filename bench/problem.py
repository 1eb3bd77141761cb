"""What a row computes, as NumPy arrays: what each library is given, and what all results are checked against."""

from dataclasses import dataclass

import numpy as np


def random(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).random(shape, dtype=dtype)


def assert_close(found, wanted, tolerance, outliers=0.0):
    wanted = np.asarray(wanted)
    off = np.abs(np.asarray(found, dtype=np.float64) - wanted) / np.abs(wanted).max()
    beyond = 1.0 - np.mean(off <= tolerance)  # NaN lies beyond
    assert beyond <= outliers, (
        f"{beyond:.2%} of values are off by more than {tolerance:.2g} of the largest: {off.max()}"
    )


@dataclass
class Problem:
    inputs: list
    wanted: np.ndarray  # of the output after one run, in float64
    tolerance: float = 0.0  # relative to the largest value
    outliers: float = 0.0  # the share of values that may lie beyond it

    def check(self, found):
        assert np.shape(found) == np.shape(self.wanted), f"found {np.shape(found)}, wanted {np.shape(self.wanted)}"
        assert_close(found, self.wanted, self.tolerance, self.outliers)

    def save(self, path):
        limits = np.array([self.tolerance, self.outliers])
        np.savez(path, wanted=self.wanted, limits=limits, **{f"input_{k}": x for k, x in enumerate(self.inputs)})

    @staticmethod
    def load(path):
        with np.load(path) as file:
            inputs = [file[f"input_{k}"] for k in range(len(file.files) - 2)]
            return Problem(inputs, file["wanted"], *file["limits"])
