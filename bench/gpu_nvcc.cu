// The streaming rows of bench/gpu.py as CUDA C++: what the vendor's compiler reaches with the same source; and the host's
// time of the driver's call that launches a kernel, below which no launch can be.
//
//     nvcc -O3 -arch=native bench/gpu_nvcc.cu -o gpu_nvcc && ./gpu_nvcc     prints a name and a figure a line
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t error = (call);                                                \
        if (error != cudaSuccess) {                                                      \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error)); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (false)

struct Vec3 {
    float x, y, z;
};

__global__ void fill(float* x, long n, unsigned seed) {
    const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i < n) x[i] = static_cast<float>((static_cast<unsigned>(i) * 2654435761U + seed) >> 8) * 5.96e-8F;
}

__global__ void saxpy(const float* x, float* y, float a, long n) {
    const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void normalize(const Vec3* x, Vec3* y, long n) {
    const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const Vec3 v = x[i];
    const float l = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    y[i] = l > 0.0F ? Vec3{v.x / l, v.y / l, v.z / l} : Vec3{0.0F, 0.0F, 0.0F};
}

__global__ void transpose(const float* x, float* y, int rows, int columns) {
    const long at = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    const int i = static_cast<int>(at / columns);
    const int j = static_cast<int>(at % columns);
    if (i < rows) y[static_cast<long>(j) * rows + i] = x[at];
}

__global__ void empty() {}

__global__ void nine(float* a, float*, float*, float*, float*, float*, float g, int, float) {
    a[threadIdx.x] = g;
}

// Of one call of cuLaunchKernel: the median of nine rounds.
double host_microseconds(const void* symbol, void** arguments, int turns = 2000) {
    cudaFunction_t found;
    CHECK(cudaGetFuncBySymbol(&found, symbol));
    void* entry = nullptr;
    CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, nullptr));
    const auto launch = reinterpret_cast<decltype(&cuLaunchKernel)>(entry);
    std::vector<double> rounds;
    for (int r = 0; r < 9; ++r) {
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        for (int t = 0; t < turns; ++t) {
            if (launch(found, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr) != CUDA_SUCCESS) std::exit(1);
        }
        const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
        rounds.push_back(spent.count() / turns);
    }
    CHECK(cudaDeviceSynchronize());
    std::sort(rounds.begin(), rounds.end());
    return rounds[4];
}

constexpr int kBlock = 256;

unsigned blocks(long n) { return static_cast<unsigned>((n + kBlock - 1) / kBlock); }

// Of one turn: the median of seven rounds between two events.
template <class Work>
float milliseconds(Work work, int turns = 20) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    work();
    CHECK(cudaDeviceSynchronize());
    std::vector<float> rounds;
    for (int r = 0; r < 7; ++r) {
        CHECK(cudaEventRecord(begin));
        for (int t = 0; t < turns; ++t) work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float spent = 0.0F;
        CHECK(cudaEventElapsedTime(&spent, begin, end));
        rounds.push_back(spent / static_cast<float>(turns));
    }
    std::sort(rounds.begin(), rounds.end());
    CHECK(cudaGetLastError());
    return rounds[3];
}

int main() {
    const long n = 1L << 27;
    float *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    fill<<<blocks(n), kBlock>>>(x, n, 1);
    fill<<<blocks(n), kBlock>>>(y, n, 77);
    const auto row = [](const char* name, double bytes, float spent) {
        std::printf("%-24s%12.4g\n", name, bytes / spent / 1e6);
    };
    row("saxpy, GB/s", 12.0 * n, milliseconds([&] { saxpy<<<blocks(n), kBlock>>>(x, y, 0.5F, n); }));
    row("copy, GB/s", 8.0 * n, milliseconds([&] {
            CHECK(cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice));
        }));
    const long m = n / 3;
    const auto* v = reinterpret_cast<const Vec3*>(x);
    auto* w = reinterpret_cast<Vec3*>(y);
    row("normalise, GB/s", 24.0 * m, milliseconds([&] { normalize<<<blocks(m), kBlock>>>(v, w, m); }));
    const long side = 8192;
    row("transpose, GB/s", 8.0 * side * side, milliseconds([&] {
            transpose<<<blocks(side * side), kBlock>>>(x, y, static_cast<int>(side), static_cast<int>(side));
        }));
    std::printf("%-24s%12.4g\n", "launch of none, us", host_microseconds(reinterpret_cast<void*>(empty), nullptr));
    float g = 1.0F, k = 3.0F;
    int h = 2;
    void* arguments[] = {&x, &x, &x, &x, &x, &x, &g, &h, &k};
    std::printf("%-24s%12.4g\n", "launch of nine, us", host_microseconds(reinterpret_cast<void*>(nine), arguments));
    return 0;
}
