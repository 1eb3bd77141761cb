// Vectors, matrices, quaternions and transforms for native snippets, laid out as in arrays.
#pragma once

#include "numbers.h"

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device begin
#endif

namespace wp {

// What all of these are: `kParts` elements of one type in a row, on which arithmetic works one by one.
template <class V>
using if_uniform = typename weft_native::enable<(V::kParts > 0), int>::type;

template <class V, class F>
__device__ inline V each(const F& f) {
    V out{};
    for (unsigned i = 0; i < V::kParts; ++i) out.part(i) = f(i);
    return out;
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator+(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return a.part(i) + b.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator-(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return a.part(i) - b.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator-(const V& a) {
    return each<V>([&](unsigned i) { return -a.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator*(const V& a, typename V::Part s) {
    return each<V>([&](unsigned i) { return a.part(i) * s; });
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator*(typename V::Part s, const V& a) {
    return each<V>([&](unsigned i) { return s * a.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V operator/(const V& a, typename V::Part s) {
    return each<V>([&](unsigned i) { return a.part(i) / s; });
}
template <class V, if_uniform<V> = 0>
__device__ inline V& operator+=(V& a, const V& b) {
    return a = a + b;
}
template <class V, if_uniform<V> = 0>
__device__ inline V& operator-=(V& a, const V& b) {
    return a = a - b;
}
template <class V, if_uniform<V> = 0>
__device__ inline V& operator*=(V& a, typename V::Part s) {
    return a = a * s;
}
template <class V, if_uniform<V> = 0>
__device__ inline V& operator/=(V& a, typename V::Part s) {
    return a = a / s;
}
template <class V, if_uniform<V> = 0>
__device__ inline bool operator==(const V& a, const V& b) {
    for (unsigned i = 0; i < V::kParts; ++i)
        if (a.part(i) != b.part(i)) return false;
    return true;
}
template <class V, if_uniform<V> = 0>
__device__ inline typename V::Part dot(const V& a, const V& b) {
    typename V::Part sum = a.part(0) * b.part(0);
    for (unsigned i = 1; i < V::kParts; ++i) sum = sum + a.part(i) * b.part(i);
    return sum;
}
template <class V, if_uniform<V> = 0>
__device__ inline typename V::Part length_sq(const V& a) {
    return dot(a, a);
}
template <class V, if_uniform<V> = 0>
__device__ inline typename V::Part length(const V& a) {
    return sqrt(dot(a, a));
}
template <class V, if_uniform<V> = 0>
__device__ inline V lerp(const V& a, const V& b, typename V::Part t) {
    return a * (typename V::Part(1) - t) + b * t;
}
template <class V, if_uniform<V> = 0>
__device__ inline V cw_mul(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return a.part(i) * b.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V cw_div(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return a.part(i) / b.part(i); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V min(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return ::min(a.part(i), b.part(i)); });
}
template <class V, if_uniform<V> = 0>
__device__ inline V max(const V& a, const V& b) {
    return each<V>([&](unsigned i) { return ::max(a.part(i), b.part(i)); });
}

template <unsigned N, class T>
struct vec_t {
    using Part = T;
    static constexpr unsigned kParts = N;
    T c[N];

    vec_t() = default;
    __device__ vec_t(T s) {
        for (unsigned i = 0; i < N; ++i) c[i] = s;
    }
    template <class... A, class = typename weft_native::enable<sizeof...(A) == N && (N > 1), int>::type>
    __device__ vec_t(A... parts) : c{T(parts)...} {}
    template <class U>
    __device__ explicit vec_t(const vec_t<N, U>& other) {
        for (unsigned i = 0; i < N; ++i) c[i] = T(other.c[i]);
    }
    __device__ T& part(unsigned i) { return c[i]; }
    __device__ const T& part(unsigned i) const { return c[i]; }
    template <class I>
    __device__ T& operator[](I i) {
        return c[i];
    }
    template <class I>
    __device__ const T& operator[](I i) const {
        return c[i];
    }
    template <class I>
    __device__ T& operator()(I i) {
        return c[i];
    }
    template <class I>
    __device__ const T& operator()(I i) const {
        return c[i];
    }
};
template <unsigned N, class T>
__device__ inline vec_t<N, T> normalize(const vec_t<N, T>& a) {
    const T l = length(a);
    return l > T(0) ? a / l : vec_t<N, T>();
}
template <class T>
__device__ inline vec_t<3, T> cross(const vec_t<3, T>& a, const vec_t<3, T>& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// Row by row.
template <unsigned R, unsigned C, class T>
struct mat_t {
    using Part = T;
    static constexpr unsigned kParts = R * C;
    T data[R][C];

    mat_t() = default;
    __device__ mat_t(T s) {
        for (unsigned i = 0; i < R * C; ++i) data[i / C][i % C] = s;
    }
    template <class... A, class = typename weft_native::enable<sizeof...(A) == R * C && (R * C > 1), int>::type>
    __device__ mat_t(A... parts) {
        const T all[] = {T(parts)...};
        for (unsigned i = 0; i < R * C; ++i) data[i / C][i % C] = all[i];
    }
    __device__ T& part(unsigned i) { return data[i / C][i % C]; }
    __device__ const T& part(unsigned i) const { return data[i / C][i % C]; }
    template <class I, class J>
    __device__ T& operator()(I i, J j) {
        return data[i][j];
    }
    template <class I, class J>
    __device__ const T& operator()(I i, J j) const {
        return data[i][j];
    }
    template <class I>
    __device__ vec_t<C, T>& operator[](I i) {
        return *(vec_t<C, T>*)data[i];
    }
    template <class I>
    __device__ const vec_t<C, T>& operator[](I i) const {
        return *(const vec_t<C, T>*)data[i];
    }
};

template <unsigned R, unsigned C, class T>
__device__ inline vec_t<R, T> mul(const mat_t<R, C, T>& m, const vec_t<C, T>& v) {
    vec_t<R, T> out{};
    for (unsigned i = 0; i < R; ++i) out[i] = dot(m[i], v);
    return out;
}
template <unsigned R, unsigned C, unsigned K, class T>
__device__ inline mat_t<R, K, T> mul(const mat_t<R, C, T>& a, const mat_t<C, K, T>& b) {
    mat_t<R, K, T> out{};
    for (unsigned i = 0; i < R; ++i)
        for (unsigned k = 0; k < K; ++k)
            for (unsigned j = 0; j < C; ++j) out(i, k) += a(i, j) * b(j, k);
    return out;
}
template <unsigned R, unsigned C, class T>
__device__ inline vec_t<R, T> operator*(const mat_t<R, C, T>& m, const vec_t<C, T>& v) {
    return mul(m, v);
}
template <unsigned R, unsigned C, unsigned K, class T>
__device__ inline mat_t<R, K, T> operator*(const mat_t<R, C, T>& a, const mat_t<C, K, T>& b) {
    return mul(a, b);
}
template <unsigned R, unsigned C, class T>
__device__ inline mat_t<C, R, T> transpose(const mat_t<R, C, T>& m) {
    mat_t<C, R, T> out{};
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) out(j, i) = m(i, j);
    return out;
}
template <unsigned R, unsigned C, class T>
__device__ inline mat_t<R, C, T> outer(const vec_t<R, T>& a, const vec_t<C, T>& b) {
    mat_t<R, C, T> out{};
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) out(i, j) = a[i] * b[j];
    return out;
}
template <unsigned N, class T>
__device__ inline T trace(const mat_t<N, N, T>& m) {
    T sum = m(0, 0);
    for (unsigned i = 1; i < N; ++i) sum = sum + m(i, i);
    return sum;
}
template <class T>
__device__ inline T determinant(const mat_t<2, 2, T>& m) {
    return m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0);
}
template <class T>
__device__ inline T determinant(const mat_t<3, 3, T>& m) {
    return dot(m[0], cross(m[1], m[2]));
}

template <class T>
struct quat_t {
    using Part = T;
    static constexpr unsigned kParts = 4;
    T x, y, z, w;

    quat_t() = default;
    __device__ quat_t(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
    __device__ quat_t(const vec_t<3, T>& v, T w) : x(v[0]), y(v[1]), z(v[2]), w(w) {}
    __device__ T& part(unsigned i) { return (&x)[i]; }
    __device__ const T& part(unsigned i) const { return (&x)[i]; }
    template <class I>
    __device__ T& operator[](I i) {
        return (&x)[i];
    }
    template <class I>
    __device__ const T& operator[](I i) const {
        return (&x)[i];
    }
};
template <class T>
__device__ inline quat_t<T> normalize(const quat_t<T>& a) {
    const T l = length(a);
    return l > T(0) ? a / l : quat_t<T>(0, 0, 0, 1);
}
template <class T>
__device__ inline quat_t<T> mul(const quat_t<T>& a, const quat_t<T>& b) {
    return {a.w * b.x + b.w * a.x + a.y * b.z - b.y * a.z, a.w * b.y + b.w * a.y + a.z * b.x - b.z * a.x,
            a.w * b.z + b.w * a.z + a.x * b.y - b.x * a.y, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
template <class T>
__device__ inline quat_t<T> operator*(const quat_t<T>& a, const quat_t<T>& b) {
    return mul(a, b);
}
template <class T>
__device__ inline quat_t<T> quat_inverse(const quat_t<T>& q) {
    return {-q.x, -q.y, -q.z, q.w};
}
template <class T>
__device__ inline vec_t<3, T> quat_rotate(const quat_t<T>& q, const vec_t<3, T>& v) {
    const vec_t<3, T> axis(q.x, q.y, q.z);
    return v * (T(2) * q.w * q.w - T(1)) + cross(axis, v) * (q.w * T(2)) + axis * (dot(axis, v) * T(2));
}
template <class T>
__device__ inline vec_t<3, T> quat_rotate_inv(const quat_t<T>& q, const vec_t<3, T>& v) {
    return quat_rotate(quat_inverse(q), v);
}

template <class T>
struct transform_t {
    using Part = T;
    static constexpr unsigned kParts = 7;
    vec_t<3, T> p;
    quat_t<T> q;

    transform_t() = default;
    __device__ transform_t(const vec_t<3, T>& p, const quat_t<T>& q) : p(p), q(q) {}
    __device__ T& part(unsigned i) { return i < 3 ? p.c[i] : q.part(i - 3); }
    __device__ const T& part(unsigned i) const { return i < 3 ? p.c[i] : q.part(i - 3); }
    template <class I>
    __device__ T& operator[](I i) {
        return part(i);
    }
    template <class I>
    __device__ const T& operator[](I i) const {
        return part(i);
    }
};
template <class T>
__device__ inline vec_t<3, T> transform_get_translation(const transform_t<T>& t) {
    return t.p;
}
template <class T>
__device__ inline quat_t<T> transform_get_rotation(const transform_t<T>& t) {
    return t.q;
}
template <class T>
__device__ inline vec_t<3, T> transform_vector(const transform_t<T>& t, const vec_t<3, T>& v) {
    return quat_rotate(t.q, v);
}
template <class T>
__device__ inline vec_t<3, T> transform_point(const transform_t<T>& t, const vec_t<3, T>& v) {
    return t.p + quat_rotate(t.q, v);
}
template <class T>
__device__ inline transform_t<T> mul(const transform_t<T>& a, const transform_t<T>& b) {
    return {transform_point(a, b.p), mul(a.q, b.q)};
}
template <class T>
__device__ inline transform_t<T> transform_inverse(const transform_t<T>& t) {
    const quat_t<T> back = quat_inverse(t.q);
    return {-quat_rotate(back, t.p), back};
}

#define WEFT_NAMES(suffix, T)         \
    using vec2##suffix = vec_t<2, T>; \
    using vec3##suffix = vec_t<3, T>; \
    using vec4##suffix = vec_t<4, T>;
#define WEFT_FLOAT_NAMES(suffix, T)             \
    WEFT_NAMES(suffix, T)                       \
    using mat22##suffix = mat_t<2, 2, T>;       \
    using mat33##suffix = mat_t<3, 3, T>;       \
    using mat44##suffix = mat_t<4, 4, T>;       \
    using quat##suffix = quat_t<T>;             \
    using transform##suffix = transform_t<T>;   \
    using spatial_vector##suffix = vec_t<6, T>; \
    using spatial_matrix##suffix = mat_t<6, 6, T>;
WEFT_FLOAT_NAMES(, float)
// clang-format off: it would run them together
WEFT_FLOAT_NAMES(f, float)
WEFT_FLOAT_NAMES(d, double)
WEFT_FLOAT_NAMES(h, float16)
WEFT_NAMES(i, int32)
WEFT_NAMES(ui, uint32)
WEFT_NAMES(l, int64)
WEFT_NAMES(ul, uint64)
WEFT_NAMES(s, int16)
WEFT_NAMES(us, uint16)
WEFT_NAMES(b, int8)
WEFT_NAMES(ub, uint8)
// clang-format on

}  // namespace wp

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device end
#endif
