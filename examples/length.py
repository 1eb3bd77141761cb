"""Distances of points from the origin, and their gradient: the smallest whole program.

Run:  python examples/length.py
"""

import numpy as np

import warp as wp


@wp.kernel
def length(points: wp.array(dtype=wp.vec3), lengths: wp.array(dtype=float)):
    # thread index
    tid = wp.tid()

    # distance of each point from the origin
    lengths[tid] = wp.length(points[tid])


def main(count=1024):
    points_np = [[np.sin(i), np.cos(i), np.tan(i)] for i in range(count)]
    points = wp.array(points_np, dtype=wp.vec3, requires_grad=True)
    lengths = wp.zeros(count, dtype=float, requires_grad=True)

    tape = wp.Tape()
    with tape:
        wp.launch(kernel=length, dim=count, inputs=[points, lengths])
    print("lengths:", lengths)

    # d length / d point is the unit vector from the origin
    tape.backward(grads={lengths: wp.ones(count, dtype=float)})
    print("gradient:", points.grad)

    expected = points.numpy() / lengths.numpy()[:, None]
    same = np.array_equal(points.grad.numpy(), expected)
    print("equal to points / lengths in every bit:", same)
    return same


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
