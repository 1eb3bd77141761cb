"""`warp.autograd`: Jacobians against closed forms."""

import numpy as np

import warp as wp
import warp.autograd


@wp.kernel
def squared_lengths(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.dot(v[i], v[i])


def test_the_jacobian_of_vectors():
    points = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]], dtype=np.float32)
    v = wp.array(points, dtype=wp.vec3, requires_grad=True)
    o = wp.zeros(2, dtype=float, requires_grad=True)
    (jacobian,) = warp.autograd.jacobian(squared_lengths, dim=2, inputs=[v], outputs=[o]).values()
    expected = np.zeros((2, 2, 3), dtype=np.float32)
    for i in range(2):
        expected[i, i] = 2.0 * points[i]
    np.testing.assert_allclose(jacobian.numpy(), expected, rtol=1e-6)
