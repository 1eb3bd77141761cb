"""Vectors and matrices."""

GROUP = "Vector Math"


def mul(a: Matrix[Scalar, n, m], b: Vector[Scalar, m]) -> Vector[Scalar, n]:
    r = vector(length=n, dtype=Scalar)
    for i in range(n):
        s = a[i, 0] * b[0]
        for k in range(1, m):
            s += a[i, k] * b[k]
        r[i] = s
    return r


def mul(a: Vector[Scalar, n], b: Matrix[Scalar, n, m]) -> Vector[Scalar, m]:
    r = vector(length=m, dtype=Scalar)
    for j in range(m):
        s = a[0] * b[0, j]
        for k in range(1, n):
            s += a[k] * b[k, j]
        r[j] = s
    return r


def mul(a: Matrix[Scalar, n, m], b: Matrix[Scalar, m, p]) -> Matrix[Scalar, n, p]:
    r = matrix(shape=(n, p), dtype=Scalar)
    for i in range(n):
        for j in range(p):
            s = a[i, 0] * b[0, j]
            for k in range(1, m):
                s += a[i, k] * b[k, j]
            r[i, j] = s
    return r


def dot(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Scalar:
    """The scalar product."""
    s = a[0] * b[0]
    for i in range(1, n):
        s += a[i] * b[i]
    return s


def dot(a: Quaternion[Float], b: Quaternion[Float]) -> Float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def ddot(a: Matrix[Scalar, n, m], b: Matrix[Scalar, n, m]) -> Scalar:
    """The sum of the products of elements."""
    s = Scalar(0)
    for i in range(n):
        for j in range(m):
            s += a[i, j] * b[i, j]
    return s


def length_sq(a: Vector[Scalar, n]) -> Scalar:
    """The square of the length."""
    return dot(a, a)


def length_sq(a: Quaternion[Float]) -> Float:
    return dot(a, a)


def length(a: Vector[Float, n]) -> Float:
    """The Euclidean length."""
    return sqrt(dot(a, a))


# a / length * g, by true division so that it is exactly what users compute as `v / l`; 0 at 0, where autodiff
# gives nan.
@func_grad(length)
def adj_length(a: Vector[Float, n], g: Float):
    size = length(a)
    if size > Float(0):
        adjoint[a] += a / size * g


def length(a: Quaternion[Float]) -> Float:
    return sqrt(dot(a, a))


# As for vectors.
@func_grad(length)
def adj_length(a: Quaternion[Float], g: Float):
    size = length(a)
    if size > Float(0):
        adjoint[a] += a / size * g


def normalize(a: Vector[Float, n]) -> Vector[Float, n]:
    """The vector scaled to length one; zero stays zero."""
    size = length(a)
    r = type(a)()
    if size > Float(0):
        r = a / size
    return r


def normalize(a: Quaternion[Float]) -> Quaternion[Float]:
    size = length(a)
    r = type(a)(Float(0), Float(0), Float(0), Float(1))
    if size > Float(0):
        r = a / size
    return r


def cross(a: Vector[Scalar, 3], b: Vector[Scalar, 3]) -> Vector[Scalar, 3]:
    """The vector product."""
    return type(a)(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(vec: Vector[Scalar, 3]) -> Matrix[Scalar, 3, 3]:
    """The matrix whose product with v is cross(vec, v)."""
    z = Scalar(0)
    return matrix(z, -vec[2], vec[1], vec[2], z, -vec[0], -vec[1], vec[0], z, shape=(3, 3))


def outer(a: Vector[Scalar, n], b: Vector[Scalar, m]) -> Matrix[Scalar, n, m]:
    """The matrix of all products of elements."""
    r = matrix(shape=(n, m), dtype=Scalar)
    for i in range(n):
        for j in range(m):
            r[i, j] = a[i] * b[j]
    return r


def trace(a: Matrix[Scalar, n, n]) -> Scalar:
    """The sum of the diagonal."""
    s = a[0, 0]
    for i in range(1, n):
        s += a[i, i]
    return s


def determinant(a: Matrix[Float, 2, 2]) -> Float:
    """The determinant of a 2x2, 3x3 or 4x4 matrix."""
    return a[0, 0] * a[1, 1] - a[1, 0] * a[0, 1]


def determinant(a: Matrix[Float, 3, 3]) -> Float:
    return dot(a[0], cross(a[1], a[2]))


def determinant(a: Matrix[Float, 4, 4]) -> Float:
    s0 = a[0, 0] * a[1, 1] - a[1, 0] * a[0, 1]
    s1 = a[0, 0] * a[1, 2] - a[1, 0] * a[0, 2]
    s2 = a[0, 0] * a[1, 3] - a[1, 0] * a[0, 3]
    s3 = a[0, 1] * a[1, 2] - a[1, 1] * a[0, 2]
    s4 = a[0, 1] * a[1, 3] - a[1, 1] * a[0, 3]
    s5 = a[0, 2] * a[1, 3] - a[1, 2] * a[0, 3]
    c5 = a[2, 2] * a[3, 3] - a[3, 2] * a[2, 3]
    c4 = a[2, 1] * a[3, 3] - a[3, 1] * a[2, 3]
    c3 = a[2, 1] * a[3, 2] - a[3, 1] * a[2, 2]
    c2 = a[2, 0] * a[3, 3] - a[3, 0] * a[2, 3]
    c1 = a[2, 0] * a[3, 2] - a[3, 0] * a[2, 2]
    c0 = a[2, 0] * a[3, 1] - a[3, 0] * a[2, 1]
    return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0


def inverse(a: Matrix[Float, 2, 2]) -> Matrix[Float, 2, 2]:
    """The inverse of a 2x2, 3x3 or 4x4 matrix; zero for a singular one."""
    d = determinant(a)
    r = type(a)()
    if d != Float(0):
        r = type(a)(a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]) * (Float(1) / d)
    return r


def inverse(a: Matrix[Float, 3, 3]) -> Matrix[Float, 3, 3]:
    d = determinant(a)
    r = type(a)()
    if d != Float(0):
        r = matrix_from_cols(cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])) * (Float(1) / d)
    return r


def inverse(a: Matrix[Float, 4, 4]) -> Matrix[Float, 4, 4]:
    # Laplace expansion by the minors of the upper two rows (s) and the lower two (c).
    s0 = a[0, 0] * a[1, 1] - a[1, 0] * a[0, 1]
    s1 = a[0, 0] * a[1, 2] - a[1, 0] * a[0, 2]
    s2 = a[0, 0] * a[1, 3] - a[1, 0] * a[0, 3]
    s3 = a[0, 1] * a[1, 2] - a[1, 1] * a[0, 2]
    s4 = a[0, 1] * a[1, 3] - a[1, 1] * a[0, 3]
    s5 = a[0, 2] * a[1, 3] - a[1, 2] * a[0, 3]
    c5 = a[2, 2] * a[3, 3] - a[3, 2] * a[2, 3]
    c4 = a[2, 1] * a[3, 3] - a[3, 1] * a[2, 3]
    c3 = a[2, 1] * a[3, 2] - a[3, 1] * a[2, 2]
    c2 = a[2, 0] * a[3, 3] - a[3, 0] * a[2, 3]
    c1 = a[2, 0] * a[3, 2] - a[3, 0] * a[2, 2]
    c0 = a[2, 0] * a[3, 1] - a[3, 0] * a[2, 1]
    d = s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0
    r = type(a)()
    if d != Float(0):
        r = type(a)(
            a[1, 1] * c5 - a[1, 2] * c4 + a[1, 3] * c3,
            -a[0, 1] * c5 + a[0, 2] * c4 - a[0, 3] * c3,
            a[3, 1] * s5 - a[3, 2] * s4 + a[3, 3] * s3,
            -a[2, 1] * s5 + a[2, 2] * s4 - a[2, 3] * s3,
            -a[1, 0] * c5 + a[1, 2] * c2 - a[1, 3] * c1,
            a[0, 0] * c5 - a[0, 2] * c2 + a[0, 3] * c1,
            -a[3, 0] * s5 + a[3, 2] * s2 - a[3, 3] * s1,
            a[2, 0] * s5 - a[2, 2] * s2 + a[2, 3] * s1,
            a[1, 0] * c4 - a[1, 1] * c2 + a[1, 3] * c0,
            -a[0, 0] * c4 + a[0, 1] * c2 - a[0, 3] * c0,
            a[3, 0] * s4 - a[3, 1] * s2 + a[3, 3] * s0,
            -a[2, 0] * s4 + a[2, 1] * s2 - a[2, 3] * s0,
            -a[1, 0] * c3 + a[1, 1] * c1 - a[1, 2] * c0,
            a[0, 0] * c3 - a[0, 1] * c1 + a[0, 2] * c0,
            -a[3, 0] * s3 + a[3, 1] * s1 - a[3, 2] * s0,
            a[2, 0] * s3 - a[2, 1] * s1 + a[2, 2] * s0,
        ) * (Float(1) / d)
    return r


def argmin(a: Vector[Scalar, n]) -> uint32:
    """The index of the smallest element, the first of equals."""
    best = 0
    for i in range(1, n):
        if a[i] < a[best]:
            best = i
    return uint32(best)


def argmax(a: Vector[Scalar, n]) -> uint32:
    """The index of the largest element, the first of equals."""
    best = 0
    for i in range(1, n):
        if a[i] > a[best]:
            best = i
    return uint32(best)
