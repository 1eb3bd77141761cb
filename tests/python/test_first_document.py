"""The programs of the user's first document (requirements 1.1 to 1.3), with the figures given there."""

import numpy as np

import warp as wp

N = 1024


@wp.kernel
def length(points: wp.array(dtype=wp.vec3), lengths: wp.array(dtype=float)):
    # thread index
    tid = wp.tid()

    # compute distance of each point from origin
    lengths[tid] = wp.length(points[tid])


def make():
    points = [[np.sin(i), np.cos(i), np.tan(i)] for i in range(N)]
    return wp.array(points, dtype=wp.vec3, requires_grad=True), wp.zeros(N, dtype=float, requires_grad=True)


def test_lengths(capsys):
    points, lengths = make()
    wp.launch(kernel=length, dim=N, inputs=[points, lengths])
    print(lengths)
    assert capsys.readouterr().out.startswith("[1.        1.8508157 2.402998  ... ")
    got = lengths.numpy()
    np.testing.assert_allclose(got[:3], [1.0, 1.8508157, 2.402998], rtol=2e-6)
    np.testing.assert_allclose(got[-3:], [1.0001551, 1.8016782, 2.4995737], rtol=2e-6)


def test_the_gradient_of_length_is_the_direction_in_every_bit():
    points, lengths = make()
    tape = wp.Tape()
    with tape:
        wp.launch(kernel=length, dim=N, inputs=[points, lengths])
    tape.backward(grads={lengths: wp.ones(N, dtype=float)})
    grad = points.grad.numpy()
    assert np.array_equal(grad, points.numpy() / lengths.numpy()[:, None])
    assert np.array_equal(grad, (points / lengths).numpy())
    first = [[0.0, 1.0, 0.0], [0.4546487, 0.29192656, 0.841471], [0.37840125, -0.1731782, -0.9092974]]
    last = [
        [0.01760877, -0.9996899, -0.01761151],
        [-0.46169454, -0.3080673, 0.83182496],
        [-0.36665666, 0.16005456, -0.91648537],
    ]
    np.testing.assert_allclose(grad[:3], first, rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(grad[-3:], last, rtol=2e-6, atol=1e-7)


REDUCE = """
    __shared__ float sum[N];

    sum[tid] = arr[tid];
    __syncthreads();
    for (int stride = HALF; stride > 0; stride >>= 1) {
        if (tid < stride)
            sum[tid] += sum[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        out[0] = sum[0];
    """


@wp.func_native(REDUCE.replace("HALF", str(N // 2)).replace("N", str(N)), "adj_arr[tid] = 1;")
def reduce(arr: wp.array(dtype=float), out: wp.array(dtype=float), tid: int):
    return


@wp.kernel
def reduce_kernel(arr: wp.array(dtype=float), out: wp.array(dtype=float)):
    tid = wp.tid()
    reduce(arr, out, tid)


def test_the_sum_of_a_block():
    points, lengths = make()
    wp.launch(kernel=length, dim=N, inputs=[points, lengths])
    s = wp.zeros(1, dtype=float)
    wp.launch(kernel=reduce_kernel, dim=N, inputs=[lengths, s], block_dim=N)
    np.testing.assert_allclose(s.numpy(), [4619.7285], rtol=1e-5)
    if wp.get_device().is_cpu:  # blocks of 256 by default: the rest of `sum` is zero here, and anything on a GPU
        wp.launch(kernel=reduce_kernel, dim=N, inputs=[lengths, s])
        np.testing.assert_allclose(s.numpy(), [1062.221], rtol=1e-6)


def test_the_gradient_through_the_sum():
    points, lengths = make()
    s = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel=length, dim=N, inputs=[points, lengths])
        wp.launch(kernel=reduce_kernel, dim=N, inputs=[lengths, s])
    tape.backward(s)
    assert np.array_equal(points.grad.numpy(), (points / lengths).numpy())
