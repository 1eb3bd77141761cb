#include <gtest/gtest.h>
#include <iostream>
#include "frontend/kernels.h"
using namespace weft::frontend::testing;
TEST(Lowering, Scratch) {
    std::cout << lowered(R"(
def k(points: Array[vec3, 1], lengths: Array[float32, 1]):
    i = tid()
    lengths[i] = length(points[i])
)") << std::endl;
    std::cout << lowered(R"(
def f(x: float, n: int) -> float:
    s = 0.0
    for i in range(n):
        if i == 3:
            continue
        if x > 100.0:
            return s
        s += x * float(i)
        last = i
    return s + float(last)

def k(a: Array[float32, 2], n: int):
    i, j = tid()
    v = vec3(1.0, 2.0, 3.0)
    v.x += a[i, j]
    v[1] = 4.0
    m = mat33(1.0) * v
    while n > 0 and m[0] < 5.0:
        n -= 1
        m = m * 2.0
    for t in range(3):
        a[i][t] += m[t]
    a[i, j] = f(m.z, n)
)") << std::endl;
    std::cout << refused("def k(a: Array[float32, 1]):\n    a[0] = lenght(3.0)\n") << "\n";
    std::cout << refused("def f(x: float):\n    return x + 1\n\ndef k(a: Array[float32, 1]):\n    a[0] = f(a[1])\n") << "\n";
    std::cout << refused("def k(a: Array[float32, 1]):\n    a[0] = dot(a, 1)\n") << "\n";
    std::cout << refused("def k(a: Array[float32, 1]):\n    a[0] = 3\n") << "\n";
}
