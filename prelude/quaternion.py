"""Rotations and transforms. A quaternion is (x, y, z, w); a transform is a position and a rotation."""

GROUP = "Quaternion Math"


def mul(a: Quaternion[Float], b: Quaternion[Float]) -> Quaternion[Float]:
    return type(a)(
        a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - b[1] * a[2],
        a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - b[2] * a[0],
        a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - b[0] * a[1],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


def quat_from_axis_angle(axis: Vector[Float, 3], angle: Float) -> Quaternion[Float]:
    """The rotation about an axis of length one, by an angle in radians."""
    half = angle * Float(0.5)
    return quaternion(axis * sin(half), cos(half))


def quat_rotate(quat: Quaternion[Float], vec: Vector[Float, 3]) -> Vector[Float, 3]:
    """The vector turned by a rotation of length one."""
    q = type(vec)(quat[0], quat[1], quat[2])
    w = quat[3]
    return vec * (Float(2) * w * w - Float(1)) + cross(q, vec) * w * Float(2) + q * dot(q, vec) * Float(2)


def quat_rotate_inv(quat: Quaternion[Float], vec: Vector[Float, 3]) -> Vector[Float, 3]:
    """The vector turned by the inverse of a rotation of length one."""
    q = type(vec)(quat[0], quat[1], quat[2])
    w = quat[3]
    return vec * (Float(2) * w * w - Float(1)) - cross(q, vec) * w * Float(2) + q * dot(q, vec) * Float(2)


def quat_to_matrix(quat: Quaternion[Float]) -> Matrix[Float, 3, 3]:
    """The rotation as a matrix."""
    o = Float(1)
    z = Float(0)
    return matrix_from_cols(
        quat_rotate(quat, vector(o, z, z)), quat_rotate(quat, vector(z, o, z)), quat_rotate(quat, vector(z, z, o))
    )


GROUP = "Transformations"


def mul(a: Transformation[Float], b: Transformation[Float]) -> Transformation[Float]:
    return transformation(a.p + quat_rotate(a.q, b.p), a.q * b.q)


def transform_multiply(a: Transformation[Float], b: Transformation[Float]) -> Transformation[Float]:
    """The transform that applies b, then a."""
    return transformation(a.p + quat_rotate(a.q, b.p), a.q * b.q)


def transform_inverse(xform: Transformation[Float]) -> Transformation[Float]:
    """The transform that undoes another."""
    q = quat_inverse(xform.q)
    return transformation(-quat_rotate(q, xform.p), q)


def transform_point(xform: Transformation[Float], point: Vector[Float, 3]) -> Vector[Float, 3]:
    """A point moved by a transform or a 4x4 matrix."""
    return xform.p + quat_rotate(xform.q, point)


def transform_point(mat: Matrix[Float, 4, 4], point: Vector[Float, 3]) -> Vector[Float, 3]:
    r = mat * vector(point[0], point[1], point[2], Float(1))
    return vector(r[0], r[1], r[2])


def transform_vector(xform: Transformation[Float], vec: Vector[Float, 3]) -> Vector[Float, 3]:
    """A direction turned by a transform or a 4x4 matrix."""
    return quat_rotate(xform.q, vec)


def transform_vector(mat: Matrix[Float, 4, 4], vec: Vector[Float, 3]) -> Vector[Float, 3]:
    r = mat * vector(vec[0], vec[1], vec[2], Float(0))
    return vector(r[0], r[1], r[2])


def quat_to_axis_angle(quat: Quaternion[Float]) -> tuple[Vector[Float, 3], Float]:
    """The axis of a rotation, and its angle in radians."""
    v = vector(quat[0], quat[1], quat[2])
    n = length(v)
    axis = normalize(v) * where(quat[3] < Float(0), Float(-1), Float(1))
    return axis, Float(2) * atan2(n, abs(quat[3]))


def transform_compose(
    position: Vector[Float, 3], rotation: Quaternion[Float], scale: Vector[Float, 3]
) -> Matrix[Float, 4, 4]:
    """The matrix that scales, then rotates, then moves."""
    r = quat_to_matrix(rotation)
    m = matrix(shape=(4, 4), dtype=Float)
    for i in range(3):
        for j in range(3):
            m[i, j] = r[i, j] * scale[j]
        m[i, 3] = position[i]
    m[3, 3] = Float(1)
    return m
