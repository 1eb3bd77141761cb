"""Find what a plate is made of from how heat spreads in it.

A picture becomes a map of conductivity. Heat conduction over it, 1,000 steps from several initial temperatures, gives
snapshots: the synthetic observations. Then the map is recovered from the observations alone, by gradient descent
through all the steps, from a flat start.

Run:  python examples/heat_inverse.py [PICTURE.png] [--out FOLDER] [--size N] [--steps N] [--iterations N]

Writes truth.png, observation.png, recovered.png, loss.png and comparison.png.

The scheme is the explicit five-point one, T' = T + dt * div(k grad T) on a grid of unit spacing with insulated edges
and the mean of the two cells' conductivities between them; it is stable for dt * 4 * max(k) <= 1.
"""

import argparse
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from tqdm import tqdm

import warp as wp

plt.switch_backend("Agg")  # pictures go to files

SHIPPED = Path(__file__).parent / "assets" / "plate.png"
LOW, HIGH = 0.2, 1.0  # conductivities of black and white
TIME_STEP = 0.2
EXPERIMENTS = 4  # initial temperatures
SPOTS = 120  # hot and cold spots of each
# Early snapshots see each cell's own conductivity, late ones how everything hangs together; as shares of all steps.
SNAPSHOTS = (0.004, 0.01, 0.025, 0.06, 0.15, 0.4, 1.0)


@wp.func
def flux(k: wp.array2d(dtype=float), t: wp.array3d(dtype=float), e: int, i: int, j: int, ni: int, nj: int):
    """Heat that flows from cell (ni, nj) to its neighbour (i, j) in a unit of time."""
    return 0.5 * (k[i, j] + k[ni, nj]) * (t[e, ni, nj] - t[e, i, j])


@wp.kernel
def step(k: wp.array2d(dtype=float), before: wp.array3d(dtype=float), after: wp.array3d(dtype=float), dt: float):
    i, j = wp.tid()
    rows = k.shape[0]
    columns = k.shape[1]
    for e in range(before.shape[0]):
        gain = float(0.0)
        if i > 0:
            gain += flux(k, before, e, i, j, i - 1, j)
        if i < rows - 1:
            gain += flux(k, before, e, i, j, i + 1, j)
        if j > 0:
            gain += flux(k, before, e, i, j, i, j - 1)
        if j < columns - 1:
            gain += flux(k, before, e, i, j, i, j + 1)
        after[e, i, j] = before[e, i, j] + dt * gain


@wp.kernel
def misfit(t: wp.array3d(dtype=float), observed: wp.array3d(dtype=float), weight: float, loss: wp.array(dtype=float)):
    e, i, j = wp.tid()
    d = t[e, i, j] - observed[e, i, j]
    wp.atomic_add(loss, 0, weight * d * d)


def load_picture(path, size):
    """The picture's brightness as float32 (size, size) in 0..1, stretched to the full range."""
    with Image.open(path) as picture:
        grey = np.asarray(picture.convert("L").resize((size, size), Image.Resampling.LANCZOS), dtype=np.float32)
    low, high = float(grey.min()), float(grey.max())
    if high - low < 1.0:
        raise SystemExit(f"{path}: the picture is of one brightness; there is nothing to recover")
    return (grey - low) / (high - low)


def initial_temperatures(size):
    """(EXPERIMENTS, size, size): small hot and cold spots at random places, the same on every run."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float64)
    radius = 0.02 * size
    out = np.zeros((EXPERIMENTS, size, size))
    for e in range(EXPERIMENTS):
        random = np.random.default_rng(100 + e)
        for _ in range(SPOTS):
            cx, cy = random.random(2) * size
            out[e] += random.choice([-1.0, 1.0]) * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2.0 * radius**2))
    return out.astype(np.float32)


class Simulation:
    """All temperatures of a run of `steps` steps; kept, as the gradient goes back through them."""

    def __init__(self, start, steps):
        self.steps = steps
        self.shape = start.shape
        self.t = [wp.array(start, dtype=float, requires_grad=True)]
        self.t += [wp.zeros(start.shape, dtype=float, requires_grad=True) for _ in range(steps)]

    def run(self, k, progress=None):
        for n in range(self.steps):
            wp.launch(step, dim=self.shape[1:], inputs=[k, self.t[n], self.t[n + 1], TIME_STEP])
            if progress is not None:
                progress.update(1)


class Adam:
    """Kingma and Ba, 2015, with a step that falls as half a cosine over the iterations."""

    def __init__(self, shape, iterations, rate=0.06):
        self.m = np.zeros(shape)
        self.v = np.zeros(shape)
        self.n = 0
        self.iterations = iterations
        self.rate = rate

    def step(self, x, gradient):
        self.n += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.99 * self.v + 0.01 * gradient**2
        rate = self.rate * 0.5 * (1.0 + np.cos(np.pi * self.n / self.iterations)) + 1e-3
        direction = (self.m / (1.0 - 0.9**self.n)) / (np.sqrt(self.v / (1.0 - 0.99**self.n)) + 1e-12)
        return x - rate * direction


def recover(simulation, observations, iterations):
    """Gradient descent from a flat map. Returns the map and the loss of every iteration."""
    shape = simulation.shape[1:]
    start = simulation.t[0].numpy()
    weights = {n: 1.0 / float(np.sum((o.numpy() - start) ** 2)) / len(observations) for n, o in observations.items()}
    estimate = np.full(shape, 0.5 * (LOW + HIGH))
    optimizer = Adam(shape, iterations)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    losses = []
    with tqdm(total=iterations, desc="recovering the map", file=sys.stdout) as progress:
        for _ in range(iterations):
            k = wp.array(estimate, dtype=float, requires_grad=True)
            loss.zero_()
            tape = wp.Tape()
            with tape:
                simulation.run(k)
                for n, observed in observations.items():
                    wp.launch(misfit, dim=simulation.shape, inputs=[simulation.t[n], observed, weights[n], loss])
            tape.backward(loss)
            losses.append(float(loss.numpy()[0]))
            estimate = np.clip(optimizer.step(estimate, k.grad.numpy()), 0.05, 1.24)
            tape.zero()
            progress.set_postfix(loss=f"{losses[-1]:.3e}")
            progress.update(1)
    return estimate, losses


def save_map(path, k):
    grey = np.clip((k - LOW) / (HIGH - LOW), 0.0, 1.0)
    Image.fromarray((255.0 * grey + 0.5).astype(np.uint8)).resize((512, 512), Image.Resampling.NEAREST).save(path)


def save_pictures(out, truth, recovered, observations, losses):
    paths = [out / name for name in ("truth.png", "observation.png", "recovered.png", "loss.png", "comparison.png")]
    save_map(paths[0], truth)
    save_map(paths[2], recovered)

    figure, axes = plt.subplots(EXPERIMENTS, len(observations), figsize=(1.7 * len(observations), 1.7 * EXPERIMENTS))
    for column, (n, observed) in enumerate(observations.items()):
        for e, image in enumerate(observed.numpy()):
            axes[e, column].imshow(image, cmap="coolwarm")
            axes[e, column].set_axis_off()
        axes[0, column].set_title(f"step {n}", fontsize=8)
    figure.suptitle("observed temperatures, one row an experiment")
    figure.savefig(paths[1], dpi=100)
    plt.close(figure)

    figure, axis = plt.subplots(figsize=(6, 4))
    axis.semilogy(losses)
    axis.set_xlabel("iteration")
    axis.set_ylabel("loss (relative misfit)")
    axis.grid(True, which="both", alpha=0.3)
    figure.savefig(paths[3], dpi=120, bbox_inches="tight")
    plt.close(figure)

    figure, axes = plt.subplots(1, 3, figsize=(12, 4))
    for axis, image, title in zip(axes[:2], (truth, recovered), ("truth", "recovered"), strict=True):
        shown = axis.imshow(image, cmap="viridis", vmin=LOW, vmax=HIGH)
        axis.set_title(title)
        figure.colorbar(shown, ax=axis, label="conductivity")
    axes[2].scatter(truth.ravel(), recovered.ravel(), s=2)
    axes[2].plot([LOW, HIGH], [LOW, HIGH], color="black", linewidth=1)
    axes[2].set_xlabel("true conductivity")
    axes[2].set_ylabel("recovered")
    figure.savefig(paths[4], dpi=110, bbox_inches="tight")
    plt.close(figure)
    return paths


def run(picture=SHIPPED, out=Path("out/demo"), size=64, steps=1000, iterations=80):
    """The whole job. Returns (fall of the loss, correlation of recovered map and truth)."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    truth = LOW + (HIGH - LOW) * load_picture(picture, size)
    simulation = Simulation(initial_temperatures(size), steps)
    with tqdm(total=steps, desc="heat conduction over the picture", file=sys.stdout) as progress:
        simulation.run(wp.array(truth, dtype=float), progress)
    turns = sorted({max(1, round(share * steps)) for share in SNAPSHOTS})
    observations = {n: wp.clone(simulation.t[n], requires_grad=False) for n in turns}

    recovered, losses = recover(simulation, observations, iterations)
    paths = save_pictures(out, truth, recovered, observations, losses)

    print("\n iteration          loss      fallen by")
    for n in sorted({*range(0, iterations, max(1, iterations // 8)), iterations - 1}):
        print(f"{n:10d}  {losses[n]:12.4e}  {losses[0] / losses[n]:12.1f}x")
    correlation = float(np.corrcoef(truth.ravel(), recovered.ravel())[0, 1])
    fall = losses[0] / losses[-1]
    print(f"\nloss fell {fall:.0f}-fold; the recovered map correlates with the truth at {correlation:.4f}")
    print(f"{time.perf_counter() - begin:.1f} s; pictures:")
    for path in paths:
        print(f"  {path}")
    return fall, correlation


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "picture", nargs="?", default=SHIPPED, type=Path, help="a PNG or other picture, resized to a square"
    )
    parser.add_argument(
        "--out", default=Path("out/demo"), type=Path, help="folder for the pictures (default: out/demo)"
    )
    parser.add_argument("--size", default=64, type=int, help="cells along an edge (default: 64)")
    parser.add_argument("--steps", default=1000, type=int, help="time steps (default: 1000)")
    parser.add_argument("--iterations", default=80, type=int, help="steps of the descent (default: 80)")
    arguments = parser.parse_args()
    if not arguments.picture.is_file():
        parser.error(f"no such picture: {arguments.picture}")
    if min(arguments.size, arguments.steps, arguments.iterations) < 2:
        parser.error("--size, --steps and --iterations must be at least 2")
    fall, correlation = run(**vars(arguments))
    return 0 if fall >= 100.0 and correlation >= 0.95 else 1


if __name__ == "__main__":
    raise SystemExit(main())
