"""Every row of the registry that has a sample domain: forward in float64 against NumPy, the two backends against each
other in every bit, gradients against finite differences. The tests are made from the registry."""

import math
import re
import zlib

import numpy as np
import pytest

import warp as wp
from warp import _core
from warp.builtin_functions import Builtin, MapKernel
from warp.kernels import backend_name

ITEMS = 16
_erf = np.vectorize(math.erf)

# What NumPy computes, by element. Builtins without a reference are still compared over backends and differentiated.
REFERENCES = {
    "abs": np.abs,
    "acos": np.arccos,
    "add": np.add,
    "asin": np.arcsin,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "clamp": lambda x, low, high: np.minimum(np.maximum(low, x), high),
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cross": np.cross,
    "cw_div": np.divide,
    "cw_mul": np.multiply,
    "degrees": np.degrees,
    "determinant": np.linalg.det,
    "dot": lambda a, b: np.sum(a * b, axis=-1),
    "erf": _erf,
    "erfc": np.vectorize(math.erfc),
    "exp": np.exp,
    "floor": np.floor,
    "floordiv": np.floor_divide,
    "frac": lambda x: x - np.trunc(x),
    "inverse": np.linalg.inv,
    "isfinite": lambda x: np.all(np.isfinite(x), axis=tuple(range(1, x.ndim))),
    "isinf": lambda x: np.any(np.isinf(x), axis=tuple(range(1, x.ndim))),
    "isnan": lambda x: np.any(np.isnan(x), axis=tuple(range(1, x.ndim))),
    "length": lambda v: np.linalg.norm(v, axis=-1),
    "length_sq": lambda v: np.sum(v * v, axis=-1),
    "lerp": lambda a, b, t: a + (b - a) * t.reshape(t.shape + (1,) * (a.ndim - t.ndim)),
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "mod": np.fmod,
    "neg": np.negative,
    "normalize": lambda v: v / np.linalg.norm(v, axis=-1, keepdims=True),
    "outer": lambda a, b: a[..., :, None] * b[..., None, :],
    "pos": np.positive,
    "pow": np.power,
    "radians": np.radians,
    "rint": np.rint,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "sign": lambda x: np.where(x < 0, -1.0, 1.0),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "step": lambda x: np.where(x < 0, 1.0, 0.0),
    "sub": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
    "trace": lambda m: np.trace(m, axis1=-2, axis2=-1),
    "transpose": lambda m: np.swapaxes(m, -2, -1),
    "trunc": np.trunc,
}
# References whose meaning differs on matrices and quaternions.
SCALARS_AND_VECTORS_ONLY = {"normalize", "length", "length_sq", "neg", "mod", "inverse"}


def concrete(pattern, element):
    """A type for a pattern of the registry: variables become `element`, lengths 3."""
    text = pattern
    for variable in ("Scalar", "Float", "Any"):
        text = re.sub(rf"\b{variable}\b", element, text)
    text = re.sub(r"\bInt\b", "i32", text)
    names = {
        "float32": "f32",
        "float64": "f64",
        "int32": "i32",
        "uint32": "u32",
        "int64": "i64",
        "uint64": "u64",
        "bool": "bool",
    }
    for name, ir_name in names.items():
        text = re.sub(rf"\b{name}\b", ir_name, text)
    text = re.sub(r"\bvec3\b", "Vector[f32, 3]", text)
    text = re.sub(r"\b[a-z]\b", "3", text)
    made = re.fullmatch(r"(Vector|Matrix|Quaternion|Transformation)\[(\w+)(?:, (\d+))?(?:, (\d+))?\]", text)
    if made:
        kind, inner, n, m = made.groups()
        text = {
            "Vector": f"vec<{n}, {inner}>",
            "Matrix": f"mat<{n}, {m}, {inner}>",
            "Quaternion": f"quat<{inner}>",
            "Transformation": f"transform<{inner}>",
        }[kind]
    try:
        return _core.Type.parse(text)
    except wp.WarpError:
        return None


def row_types(row, element):
    return [concrete(pattern, element) for _, pattern, _ in row["parameters"]]


# Where the registry names no domain.
USUAL = (-2.0, 2.0, ())


# Rows that take types, shapes, references or arrays, or give nothing: test_builtins_by_hand.py has them.
# fmt: off
BY_HAND = [
    "address_of", "adjoint", "array", "atomic_add", "atomic_and", "atomic_exch", "atomic_max", "atomic_min",
    "atomic_or", "atomic_sub", "atomic_xor", "block_dim", "block_idx", "cast", "empty", "expect_eq", "expect_near",
    "expect_neq", "full", "grad", "identity", "len", "lower_bound", "mat", "matrix", "matrix_from_cols",
    "matrix_from_rows", "ones", "print", "printf", "quat_identity", "range", "shared_array", "static", "sync_threads",
    "texture_sample", "thread_idx", "tid", "transform_identity", "type", "vec", "vector", "zeros",
]
# fmt: on


def is_sampled(name, row):
    """Whether a map of the row can be made and its values sampled."""
    has_outputs = name in ("svd2", "svd3", "qr3", "eig3") and len(row["parameters"]) > 1
    return name not in BY_HAND and not has_outputs


def sampled():
    """(name, index of the row)."""
    for name in _core.builtin_names():
        for index, row in enumerate(_core.builtin_rows(name)):
            if is_sampled(name, row):
                yield name, index


ROWS = list(sampled())
ROW_IDS = [f"{name}-{index}" for name, index in ROWS]


class Case:
    """One row at one float type: its kernel and its samples."""

    def __init__(self, name, index, element, backend=""):
        self.name = name
        self.row = _core.builtin_rows(name)[index]
        self.types = row_types(self.row, element)
        operands = [(type, 1, (False,), "array") for type in self.types]
        self.kernel, self.results = _core.make_map_kernel(Builtin(name), name, 1, operands, MapKernel, backend)
        rng = np.random.default_rng(zlib.crc32(f"{name}-{index}".encode()))
        self.samples = [self.sample(i, type, rng) for i, type in enumerate(self.types)]

    def sample(self, i, type, rng):
        domains = self.row["domains"] or [USUAL]
        low, high, excluded = domains[i] if len(domains) > 1 else domains[0]
        dtype = wp.types.class_of(type)
        shape = (ITEMS, *wp.types.part_shape(dtype))
        scalar = wp.types.scalar_of(dtype)
        if scalar is wp.bool:
            return rng.random(shape) < 0.5
        if scalar in wp.types.int_types:
            values = rng.integers(math.ceil(low), math.floor(high) + 1, shape)
            return np.where(np.isin(values, excluded), math.floor(high), values)
        values = low + (high - low) * rng.random(shape)
        for point in excluded:
            near = np.abs(values - point) < 1e-3
            values[near] += 5e-3
        return values

    def arrays(self, samples=None):
        made = []
        for type, values in zip(self.types, samples or self.samples, strict=True):
            made.append(wp.array(values, dtype=wp.types.class_of(type)))
        return made

    def differentiated(self, float_results):
        """Inputs with gradients of the weighted sum of the results, and the weights."""
        inputs = self.arrays()
        weights = [np.cos(np.arange(type.part_count if type.kind != "scalar" else 1) + 0.3) for type in self.results]
        for array in inputs:
            array.requires_grad = array._element.is_differentiable
        outputs = [wp.zeros(ITEMS, dtype=wp.types.class_of(type), requires_grad=True) for type in self.results]
        tape = wp.Tape()
        with tape:
            wp.launch(self.kernel, dim=ITEMS, inputs=inputs, outputs=outputs)
        for i in float_results:
            part = outputs[i].numpy().shape[1:]
            outputs[i].grad.assign(np.broadcast_to(weights[i].reshape(part), (ITEMS, *part)))
        tape.backward()
        return inputs, weights

    def gradients(self):
        inputs, _ = self.differentiated([i for i, type in enumerate(self.results) if type.is_differentiable])
        return [array.grad.numpy() for array in inputs if array.requires_grad]

    def run(self, inputs):
        outputs = [wp.zeros(ITEMS, dtype=wp.types.class_of(type)) for type in self.results]
        wp.launch(self.kernel, dim=ITEMS, inputs=inputs, outputs=outputs)
        return outputs


@pytest.mark.parametrize("name, index", ROWS, ids=ROW_IDS)
def test_forward_in_float64(name, index):
    case = Case(name, index, "f64")
    outputs = [o.numpy() for o in case.run(case.arrays())]
    assert all(np.all(np.isfinite(o)) for o in outputs if o.dtype.kind == "f")
    reference = REFERENCES.get(name)
    kinds = {type.kind for type in case.types}
    if reference is None or (name in SCALARS_AND_VECTORS_ONLY and not kinds <= {"scalar", "vec"}):
        return
    if len(kinds) > 1 and name not in ("lerp",):
        return  # mixed operands (vector times scalar, ...) have tests of their own: test_arrays.py
    with np.errstate(all="ignore"):
        wanted = reference(*[a.numpy() for a in case.arrays()])
    np.testing.assert_allclose(
        outputs[0].astype(np.float64), np.asarray(wanted, dtype=np.float64), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name, index", ROWS, ids=ROW_IDS)
@pytest.mark.slow
def test_backends_agree_in_every_bit(name, index, element):
    ours, other = Case(name, index, element), Case(name, index, element, backend_name("cxx"))
    for a, b in zip(ours.run(ours.arrays()), other.run(other.arrays()), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("name, index", ROWS, ids=ROW_IDS)
def test_gradient_in_float64(name, index):
    case = Case(name, index, "f64")
    float_results = [i for i, type in enumerate(case.results) if type.is_differentiable]
    if not case.row["differentiable"] or not float_results:
        return
    inputs, weights = case.differentiated(float_results)

    def total(samples):
        sums = np.zeros(ITEMS)
        for i, out in enumerate(case.run(case.arrays(samples))):
            if i in float_results:
                sums += (out.numpy().reshape(ITEMS, -1) * weights[i]).sum(axis=1)
        return sums

    # Those of float32 alone are linear in it.
    single = any("float32" in pattern for _, pattern, _ in case.row["parameters"])
    step, error = (2.0**-6, 1e-4) if single else (1e-6, 1e-5)
    for k, array in enumerate(inputs):
        if not array.requires_grad:
            continue
        base = case.samples[k].reshape(ITEMS, -1)
        grad = array.grad.numpy().reshape(ITEMS, -1)
        for part in range(base.shape[1]):
            ends = []
            for sign in (1, -1):
                moved = base.copy()
                moved[:, part] += sign * step
                ends.append(total([*case.samples[:k], moved.reshape(case.samples[k].shape), *case.samples[k + 1 :]]))
            wanted = (ends[0] - ends[1]) / (2 * step)
            where = f"operand {k}, part {part}"
            np.testing.assert_allclose(grad[:, part], wanted, rtol=error, atol=error / 100, err_msg=where)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name, index", ROWS, ids=ROW_IDS)
@pytest.mark.slow
def test_gradients_agree_in_every_bit(name, index, element):
    ours, other = Case(name, index, element), Case(name, index, element, backend_name("cxx"))
    if not ours.row["differentiable"] or not any(type.is_differentiable for type in ours.results):
        return
    gradients = [case.gradients() for case in (ours, other)]
    for a, b in zip(*gradients, strict=True):
        assert a.tobytes() == b.tobytes()


def test_every_row_is_sampled_or_by_hand():
    by_hand = {name for name in _core.builtin_names() if name in BY_HAND}
    assert sorted(by_hand) == sorted(BY_HAND)
    for name, index in ROWS:
        types = row_types(_core.builtin_rows(name)[index], "f64")
        assert types and None not in types, name
    assert len(ROWS) >= 180
