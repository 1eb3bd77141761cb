"""Decompositions of small matrices, by Jacobi's method (Golub and Van Loan, Matrix Computations, 8.5 and 8.6.3)."""

GROUP = "Vector Math"


# Cosine and sine of the turn that makes [[p, x], [x, q]] diagonal, by at most 45 degrees.
def _jacobi_turn(p: Float, q: Float, x: Float) -> tuple[Float, Float]:
    tau = (q - p) / (Float(2) * x)
    t = Float(1) / (abs(tau) + sqrt(Float(1) + tau * tau))
    if tau < Float(0):
        t = -t
    c = Float(1) / sqrt(Float(1) + t * t)
    return c, t * c


# Columns i and j of a, turned.
def _turned(a: Matrix[Float, n, n], i: int32, j: int32, c: Float, s: Float) -> Matrix[Float, n, n]:
    r = a
    for k in range(n):
        x = a[k, i]
        y = a[k, j]
        r[k, i] = c * x - s * y
        r[k, j] = s * x + c * y
    return r


# Whether x changes a number of the size of `scale`, `digits` bits short of its precision.
def _matters(x: Float, scale: Float, digits: Float) -> bool:
    return scale + abs(x) * digits != scale


# 1 / x, or 0 where x is only the rounding error of a difference of numbers of the size of `scale`: there the adjoint
# of singular vectors, which are any of a plane, has no value.
def _reciprocal(x: Float, scale: Float) -> Float:
    r = Float(0)
    if _matters(x, scale, Float(0.0625)):
        r = Float(1) / x
    return r


# A direction at right angles to u, which has length one.
def _perpendicular(u: Vector[Float, 3]) -> Vector[Float, 3]:
    axis = type(u)()
    axis[argmin(type(u)(abs(u[0]), abs(u[1]), abs(u[2])))] = Float(1)
    return normalize(axis - u * dot(u, axis))


# The direction of a beyond u, which has length one. Projecting twice is enough for full precision.
def _beyond(a: Vector[Float, 3], u: Vector[Float, 3]) -> Vector[Float, 3]:
    rest = a - u * dot(u, a)
    r = normalize(rest)
    r = normalize(r - u * dot(u, r))
    if not _matters(length(rest), length(a), Float(0.25)):
        r = _perpendicular(u)
    return r


def _largest(a: Matrix[Float, n, n]) -> Float:
    r = Float(0)
    for i in range(n):
        for j in range(n):
            r = max(r, abs(a[i, j]))
    return r


# a * v, and the turns v that make its columns orthogonal, longest first. `quarter`: the sine, 1 or -1, of the quarter
# turns that exchange columns.
def _one_sided(a: Matrix[Float, n, n], quarter: Float) -> tuple[Matrix[Float, n, n], Matrix[Float, n, n]]:
    b = a
    v = identity(n=n, dtype=Float)
    turning = True
    sweep = 0
    while turning and sweep < 16:
        turning = False
        sweep += 1
        for i in range(n - 1):
            for j in range(i + 1, n):
                p = Float(0)
                q = Float(0)
                x = Float(0)
                for k in range(n):
                    p += b[k, i] * b[k, i]
                    q += b[k, j] * b[k, j]
                    x += b[k, i] * b[k, j]
                if _matters(x, sqrt(p * q), Float(0.25)):
                    c, s = _jacobi_turn(p, q, x)
                    b = _turned(b, i, j, c, s)
                    v = _turned(v, i, j, c, s)
                    turning = True
    for i in range(n - 1):
        for j in range(i + 1, n):
            p = Float(0)
            q = Float(0)
            for k in range(n):
                p += b[k, i] * b[k, i]
                q += b[k, j] * b[k, j]
            if p < q:
                b = _turned(b, i, j, Float(0), quarter)
                v = _turned(v, i, j, Float(0), quarter)
    return b, v


# The adjoint of a, from those of its factors. With p = transpose(u) * da * v, the adjoint of p has gs on its diagonal
# and, off it, what the antisymmetric parts of transpose(u) * gu and transpose(v) * gv give; their sum and difference
# are kept apart, so that what depends on a alone, as u * transpose(v) does, is right where singular values are equal.
def _adj_svd(
    u: Matrix[Float, n, n],
    s: Vector[Float, n],
    v: Matrix[Float, n, n],
    gu: Matrix[Float, n, n],
    gs: Vector[Float, n],
    gv: Matrix[Float, n, n],
) -> Matrix[Float, n, n]:
    mu = transpose(u) * gu
    mv = transpose(v) * gv
    p = diag(gs)
    for i in range(n - 1):
        for j in range(i + 1, n):
            x = mu[i, j] - mu[j, i]
            y = mv[i, j] - mv[j, i]
            both = (x + y) * _reciprocal(s[j] - s[i], abs(s[0])) * Float(0.5)
            turned = (x - y) * _reciprocal(s[j] + s[i], abs(s[0])) * Float(0.5)
            p[i, j] = both + turned
            p[j, i] = both - turned
    return u * p * transpose(v)


def svd2(A: Matrix[Float, 2, 2]) -> tuple[Matrix[Float, 2, 2], Vector[Float, 2], Matrix[Float, 2, 2]]:
    """U, sigma and V of A = U * diag(sigma) * transpose(V). V is a rotation; sigma falls and is not negative."""
    size = _largest(A)
    u = identity(n=2, dtype=Float)
    v = identity(n=2, dtype=Float)
    sigma = vector(length=2, dtype=Float)
    if size > Float(0):
        b, turns = _one_sided(A / size, Float(1))
        v = turns
        b0 = vector(b[0, 0], b[1, 0])
        b1 = vector(b[0, 1], b[1, 1])
        u0 = normalize(b0)
        u1 = vector(-u0[1], u0[0])
        if dot(u1, b1) < Float(0):
            u1 = -u1
        u = matrix_from_cols(u0, u1)
        sigma = get_diag(transpose(u) * A * v)
    return u, sigma, v


# Autodiff would differentiate the iteration.
@func_grad(svd2)
def adj_svd2(A: Matrix[Float, 2, 2], gu: Matrix[Float, 2, 2], gs: Vector[Float, 2], gv: Matrix[Float, 2, 2]):
    u, s, v = svd2(A)
    adjoint[A] += _adj_svd(u, s, v, gu, gs, gv)


@updates("U", "sigma", "V")
def svd2(
    A: Matrix[Float, 2, 2], U: Matrix[Float, 2, 2], sigma: Vector[Float, 2], V: Matrix[Float, 2, 2]
) -> tuple[Matrix[Float, 2, 2], Vector[Float, 2], Matrix[Float, 2, 2]]:
    return svd2(A)


def svd3(A: Matrix[Float, 3, 3]) -> tuple[Matrix[Float, 3, 3], Vector[Float, 3], Matrix[Float, 3, 3]]:
    """U, sigma and V of A = U * diag(sigma) * transpose(V). U and V are rotations, sigma falls in size; the last of it
    is negative where the determinant is."""
    size = _largest(A)
    u = identity(n=3, dtype=Float)
    v = identity(n=3, dtype=Float)
    sigma = vector(length=3, dtype=Float)
    if size > Float(0):
        b, turns = _one_sided(A / size, Float(-1))
        v = turns
        b0 = vector(b[0, 0], b[1, 0], b[2, 0])
        b1 = vector(b[0, 1], b[1, 1], b[2, 1])
        u0 = normalize(b0)
        u1 = _beyond(b1, u0)
        u = matrix_from_cols(u0, u1, cross(u0, u1))
        # Errors of the iteration change lengths in second order only.
        av = transpose(A * v)
        sigma = vector(length(av[0]), length(av[1]), dot(u[:, 2], av[2]))
    return u, sigma, v


# Autodiff would differentiate the iteration.
@func_grad(svd3)
def adj_svd3(A: Matrix[Float, 3, 3], gu: Matrix[Float, 3, 3], gs: Vector[Float, 3], gv: Matrix[Float, 3, 3]):
    u, s, v = svd3(A)
    adjoint[A] += _adj_svd(u, s, v, gu, gs, gv)


@updates("U", "sigma", "V")
def svd3(
    A: Matrix[Float, 3, 3], U: Matrix[Float, 3, 3], sigma: Vector[Float, 3], V: Matrix[Float, 3, 3]
) -> tuple[Matrix[Float, 3, 3], Vector[Float, 3], Matrix[Float, 3, 3]]:
    return svd3(A)


def qr3(A: Matrix[Float, 3, 3]) -> tuple[Matrix[Float, 3, 3], Matrix[Float, 3, 3]]:
    """A rotation Q and an upper triangular R with A = Q * R. The first two diagonal elements of R are not negative."""
    size = _largest(A)
    q = identity(n=3, dtype=Float)
    r = matrix(shape=(3, 3), dtype=Float)
    if size > Float(0):
        a = A / size
        a0 = vector(a[0, 0], a[1, 0], a[2, 0])
        a1 = vector(a[0, 1], a[1, 1], a[2, 1])
        q0 = type(a0)(Float(1), Float(0), Float(0))
        if length(a0) > Float(0):
            q0 = normalize(a0)
        q1 = _beyond(a1, q0)
        q = matrix_from_cols(q0, q1, cross(q0, q1))
        r = transpose(q) * a * size
        for i in range(1, 3):
            for j in range(i):
                r[i, j] = Float(0)
    return q, r


# Autodiff would divide by lengths that are zero for singular matrices. Walter and Lehmann, Algorithmic differentiation
# of linear algebra functions, 2010.
@func_grad(qr3)
def adj_qr3(A: Matrix[Float, 3, 3], gq: Matrix[Float, 3, 3], gr: Matrix[Float, 3, 3]):
    q, r = qr3(A)
    m = r * transpose(gr) - transpose(gq) * q
    for i in range(2):
        for j in range(i + 1, 3):
            m[i, j] = m[j, i]
    adjoint[A] += (gq + q * m) * transpose(inverse(r))


@updates("Q", "R")
def qr3(
    A: Matrix[Float, 3, 3], Q: Matrix[Float, 3, 3], R: Matrix[Float, 3, 3]
) -> tuple[Matrix[Float, 3, 3], Matrix[Float, 3, 3]]:
    return qr3(A)


def eig3(A: Matrix[Float, 3, 3]) -> tuple[Matrix[Float, 3, 3], Vector[Float, 3]]:
    """The eigenvectors of a symmetric matrix, as columns of a rotation, and its eigenvalues, in no order. Of another
    matrix: those of (A + transpose(A)) / 2."""
    a = (A + transpose(A)) * Float(0.5)
    q = identity(n=3, dtype=Float)
    turning = True
    sweep = 0
    while turning and sweep < 16:
        turning = False
        sweep += 1
        for i in range(2):
            for j in range(i + 1, 3):
                x = a[i, j]
                if _matters(x, abs(a[i, i]), Float(1)) or _matters(x, abs(a[j, j]), Float(1)):
                    c, s = _jacobi_turn(a[i, i], a[j, j], x)
                    a = transpose(_turned(transpose(_turned(a, i, j, c, s)), i, j, c, s))
                    a[i, j] = Float(0)
                    a[j, i] = Float(0)
                    q = _turned(q, i, j, c, s)
                    turning = True
    return q, get_diag(a)


# Autodiff would differentiate the iteration.
@func_grad(eig3)
def adj_eig3(A: Matrix[Float, 3, 3], gq: Matrix[Float, 3, 3], gd: Vector[Float, 3]):
    q, d = eig3(A)
    m = transpose(q) * gq
    p = diag(gd)
    scale = max(max(abs(d[0]), abs(d[1])), abs(d[2]))
    for i in range(2):
        for j in range(i + 1, 3):
            p[i, j] = (m[i, j] - m[j, i]) * _reciprocal(d[j] - d[i], scale) * Float(0.5)
            p[j, i] = p[i, j]
    adjoint[A] += q * p * transpose(q)


@updates("Q", "d")
def eig3(
    A: Matrix[Float, 3, 3], Q: Matrix[Float, 3, 3], d: Vector[Float, 3]
) -> tuple[Matrix[Float, 3, 3], Vector[Float, 3]]:
    return eig3(A)
