"""Blends between two values."""

GROUP = "Utility"


def lerp(a: Float, b: Float, t: Float) -> Float:
    """a * (1 - t) + b * t."""
    return a * (Float(1) - t) + b * t


def lerp(a: Vector[Float, n], b: Vector[Float, n], t: Float) -> Vector[Float, n]:
    return a * (Float(1) - t) + b * t


def lerp(a: Matrix[Float, n, m], b: Matrix[Float, n, m], t: Float) -> Matrix[Float, n, m]:
    return a * (Float(1) - t) + b * t


def lerp(a: Quaternion[Float], b: Quaternion[Float], t: Float) -> Quaternion[Float]:
    return a * (Float(1) - t) + b * t


def lerp(a: Transformation[Float], b: Transformation[Float], t: Float) -> Transformation[Float]:
    return a * (Float(1) - t) + b * t


def smoothstep(a: Float, b: Float, x: Float) -> Float:
    """0 below a, 1 above b, a smooth curve between."""
    t = clamp((x - a) / (b - a), Float(0), Float(1))
    return t * t * (Float(3) - Float(2) * t)
