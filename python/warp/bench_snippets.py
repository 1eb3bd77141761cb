"""How long native snippets take to compile: a snippet of 20 lines, after the first one of the process."""

import statistics
import time

import warp as wp

# Other numbers make other texts, so that no cache knows them.
TEXT = """
    __shared__ float tile[256 + 2];
    const int t = threadIdx.x;
    const int n = x.shape[0];
    tile[t + 1] = x[i];
    if (t == 0) tile[0] = x[(i + n - 1) % n];
    if (t == blockDim.x - 1) tile[t + 2] = x[(i + 1) % n];
    __syncthreads();
    const vec3 near = vec3(tile[t], tile[t + 1], tile[t + 2]);
    const vec3 weights = normalize(vec3(1.0f, 2.5f, {number}.0f));
    float smooth = dot(near, weights);
    auto bend = [](float v, int turns) {{
        for (int k = 0; k < turns; ++k) v = 0.5f * (v + sinf(v));
        return v;
    }};
    smooth = bend(smooth, 4);
    const float most = max(max(near[0], near[1]), near[2]);
    if (smooth > most) smooth = most;
    if (isnan(smooth)) smooth = 0.0f;
    y[i] = smooth;
"""
ARCHITECTURE = "sm_90"


def _kernel(number):
    @wp.func_native(TEXT.format(number=number))
    def smooth(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...

    @wp.kernel(module="unique")
    def smoothed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        smooth(x, y, wp.tid())

    return smoothed


def run(repeat=5):
    """Medians in milliseconds, of so many snippets after the first: {"snippets", "cpu" (first launch), "ptx"}."""
    x, y = (wp.zeros(256, dtype=float, device="cpu") for _ in range(2))
    begin = time.time_ns()
    runs = []
    for k in range(repeat + 1):
        kernel = _kernel(begin + k)
        start = time.perf_counter()
        wp.launch(kernel, 256, inputs=[x, y], device="cpu")
        launched = time.perf_counter()
        # The same kernel, whose compile for the CPU has ended: another's would run beside it.
        kernel._dump("ptx", backend="llvm-nvptx", gpu=ARCHITECTURE)
        end = time.perf_counter()
        stages, _ = kernel._times()
        runs.append((dict(stages)["snippets"], (launched - start) * 1e3, (end - launched) * 1e3))
    return dict(zip(("snippets", "cpu", "ptx"), map(statistics.median, zip(*runs[1:], strict=True)), strict=True))


def table(result):
    return "\n".join(
        [
            "milliseconds",
            f"{'snippets':<14}{result['snippets']:>10.2f}  clang, and what makes its code like the emitters' own",
            f"{'cpu':<14}{result['cpu']:>10.2f}  the first launch",
            f"{'ptx':<14}{result['ptx']:>10.2f}  for {ARCHITECTURE}",
        ]
    )
