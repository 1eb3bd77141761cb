"""The levels of a texture: each has half the texels of the one before along every axis, down to one."""


def level_shapes(shape, levels):
    """The shapes of so many levels, the first being `shape`."""
    shapes = [tuple(shape)]
    while len(shapes) < levels:
        shapes.append(tuple(max(size // 2, 1) for size in shapes[-1]))
    return shapes


def levels_of(data, ndim, levels):
    """So many levels of NumPy data, channels beyond the first `ndim` axes; each is the mean of pairs of the last.

    A last texel that has no partner is left out. Integers are rounded, halves to even.
    """
    import numpy as np

    made = [data]
    while len(made) < levels:
        mean = made[-1].astype(np.float64)
        for axis in range(ndim):
            pairs = mean.shape[axis] // 2
            if pairs > 0:
                first = [slice(None)] * mean.ndim
                first[axis] = slice(0, 2 * pairs, 2)
                second = list(first)
                second[axis] = slice(1, 2 * pairs, 2)
                mean = (mean[tuple(first)] + mean[tuple(second)]) / 2
        if np.issubdtype(data.dtype, np.integer):
            mean = np.rint(mean)
        made.append(np.ascontiguousarray(mean.astype(data.dtype)))
    return made
