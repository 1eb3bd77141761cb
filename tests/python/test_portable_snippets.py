"""What blocks of threads are for, as native snippets: the same results on every device, whatever its warps."""

import numpy as np
import pytest

import warp as wp

SIZES = [32, 64, 96, 256, 1024]
RNG = np.random.default_rng(11)

REDUCTION = """
    __shared__ {type} partial[1024];
    const int t = threadIdx.x;
    partial[t] = x[i];
    for (int width = 1024; width > 1;) {{
        width /= 2;
        __syncthreads();
        if (t < width && t + width < int(blockDim.x)) partial[t] += partial[t + width];
    }}
    if (t == 0) out[blockIdx.x] = partial[0];
"""


@wp.func_native(REDUCTION.format(type="int"))
def sum_of_ints(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.func_native(REDUCTION.format(type="float"))
def sum_of_floats(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.func_native("""
    __shared__ unsigned counts[37];
    for (int k = threadIdx.x; k < 37; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    atomicAdd(&counts[unsigned(x[i]) % 37u], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 37; k += blockDim.x) atomicAdd(&out[k], int(counts[k]));
""")
def histogram(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    __shared__ int keys[1024];
    const int n = blockDim.x;
    int room = 1;
    while (room < n) room *= 2;
    for (int k = threadIdx.x; k < room; k += n) keys[k] = k < n ? x[blockIdx.x * n + k] : 2147483647;
    for (int length = 2; length <= room; length *= 2) {
        for (int distance = length / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int k = threadIdx.x; k < room; k += n) {
                const int other = k ^ distance;
                if (other < k) continue;
                const bool ascending = (k & length) == 0;
                const int a = keys[k];
                const int b = keys[other];
                if ((a > b) == ascending) {
                    keys[k] = b;
                    keys[other] = a;
                }
            }
        }
    }
    __syncthreads();
    out[i] = keys[threadIdx.x];
""")
def bitonic_sort(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    __shared__ float tile[1024 + 4];
    const int n = x.shape[0];
    const int t = threadIdx.x + 2;
    const int end = int(blockDim.x) + 2;
    tile[t] = x[i];
    if (t < 4) tile[t - 2] = i >= 2 ? x[i - 2] : 0.0f;
    if (t >= end - 2) tile[t + 2] = i + 2 < n ? x[i + 2] : 0.0f;
    __syncthreads();
    out[i] = tile[t - 2] - 4.0f * tile[t - 1] + 6.0f * tile[t] - 4.0f * tile[t + 1] + tile[t + 2];
""")
def stencil_with_halo(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.func_native("""
    __shared__ int sums[32];
    const auto everyone = warpSize == 64 ? ~0ull : 0xffffffffull;
    const int lane = threadIdx.x % warpSize;
    const int warp = threadIdx.x / warpSize;
    int sum = x[i];
    for (int distance = 1; distance < warpSize; distance *= 2) {
        const int before = __shfl_up_sync(everyone, sum, distance);
        if (lane >= distance) sum += before;
    }
    if (lane == warpSize - 1) sums[warp] = sum;
    __syncthreads();
    for (int k = 0; k < warp; ++k) sum += sums[k];
    out[i] = sum;
""")
def shuffle_scan(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


def run(function, kind, x, out, block_dim):
    @wp.kernel
    def per_item(x: wp.array(dtype=kind), out: wp.array(dtype=kind)):
        function(x, out, wp.tid())

    given, made = wp.array(x, dtype=kind), wp.array(out, dtype=kind)
    wp.launch(per_item, len(x), inputs=[given, made], block_dim=block_dim)
    return made.numpy()


def integers(block_dim, low=-1000):
    return RNG.integers(low, 1000, 7 * block_dim).astype(np.int32)


@pytest.mark.parametrize("block_dim", SIZES)
class TestSnippets:
    def test_reduction(self, block_dim):
        x = integers(block_dim)
        found = run(sum_of_ints, int, x, np.zeros(7, dtype=np.int32), block_dim)
        np.testing.assert_array_equal(found, x.reshape(7, -1).sum(axis=1))

    def test_reduction_of_floats(self, block_dim):
        x = RNG.normal(size=7 * block_dim).astype(np.float32)
        found = run(sum_of_floats, float, x, np.zeros(7, dtype=np.float32), block_dim)
        rows = x.reshape(7, -1).astype(np.float64)
        # A sum in pairs is off by at most so many roundings as it has levels (Higham, Accuracy and Stability, 4.2).
        bound = 10 * 2.0**-24 * np.abs(rows).sum(axis=1)
        assert (np.abs(found - rows.sum(axis=1)) <= bound).all()

    def test_histogram(self, block_dim):
        x = integers(block_dim, low=0)
        found = run(histogram, int, x, np.zeros(37, dtype=np.int32), block_dim)
        np.testing.assert_array_equal(found, np.bincount(x % 37, minlength=37))

    def test_bitonic_sort(self, block_dim):
        x = integers(block_dim)
        found = run(bitonic_sort, int, x, np.zeros_like(x), block_dim)
        np.testing.assert_array_equal(found.reshape(7, -1), np.sort(x.reshape(7, -1), axis=1))

    def test_stencil_with_halo(self, block_dim):
        x = integers(block_dim).astype(np.float32)
        found = run(stencil_with_halo, float, x, np.zeros_like(x), block_dim)
        np.testing.assert_array_equal(found, np.convolve(x, [1, -4, 6, -4, 1])[2:-2])

    def test_shuffle_scan(self, block_dim):
        x = integers(block_dim)
        found = run(shuffle_scan, int, x, np.zeros_like(x), block_dim)
        np.testing.assert_array_equal(found.reshape(7, -1), np.cumsum(x.reshape(7, -1), axis=1))
