"""Indexed, Fabric and fixed arrays, subclasses of arrays, and how they are told from annotations; against NumPy."""

import copy

import numpy as np
import pytest
from support.fabric import interface

import warp as wp

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS, COLUMNS = np.array([2, 0], dtype=np.int32), np.array([3, 1, 1], dtype=np.int32)


def ints(values):
    return wp.array(np.array(values, dtype=np.int32))


# ---- indexed ----


@pytest.mark.parametrize("rows, columns", [(ROWS, COLUMNS), (ROWS, None), (None, COLUMNS), (None, None)])
def test_indexed_arrays_select(rows, columns):
    a = wp.indexedarray(wp.array(DATA), [None if i is None else wp.array(i) for i in (rows, columns)])
    expected = DATA[rows if rows is not None else slice(None)][:, columns if columns is not None else slice(None)]
    assert (a.shape, a.ndim, a.size, len(a)) == (expected.shape, 2, expected.size, len(expected))
    assert np.array_equal(a.numpy(), expected)
    assert a.list() == expected.flatten().tolist()
    assert np.array_equal(a.contiguous().numpy(), expected)
    assert np.array_equal(wp.clone(a).numpy(), expected)
    assert np.array_equal(a[1].numpy(), expected[1])
    assert np.array_equal(a[:, 1:].numpy(), expected[:, 1:])
    assert np.array_equal(a[1:, 0].numpy(), expected[1:, 0])
    assert str(a) == str(expected)


def test_indexing_by_arrays_makes_them():
    a = wp.array(DATA)
    assert np.array_equal(a[wp.array(ROWS)].numpy(), DATA[ROWS])
    assert np.array_equal(a[1:, wp.array(COLUMNS)].numpy(), DATA[1:, COLUMNS])
    assert np.array_equal(a[wp.array(ROWS), 2].numpy(), DATA[ROWS, 2])
    assert np.array_equal(a[wp.array(ROWS)][:, wp.array(COLUMNS)].numpy(), DATA[ROWS][:, COLUMNS])


def test_writes_reach_what_is_selected_only():
    base = wp.array(DATA)
    a = base[wp.array(ROWS)][:, wp.array([0, 3], dtype=int)]
    expected = DATA.copy()
    where = np.ix_(ROWS, [0, 3])
    a.fill_(7.0)
    expected[where] = 7
    assert np.array_equal(base.numpy(), expected)
    a.assign(np.array([[1, 2], [3, 4]], dtype=np.float32))
    expected[where] = [[1, 2], [3, 4]]
    assert np.array_equal(base.numpy(), expected)
    wp.copy(a, wp.array(np.full((2, 2), 9, dtype=np.float32)))
    expected[where] = 9
    assert np.array_equal(base.numpy(), expected)
    a.zero_()
    expected[where] = 0
    assert np.array_equal(base.numpy(), expected)


@wp.kernel
def double(a: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = 2.0 * a[i, j] + float(a.shape[0])
    a[i, j] = -1.0


def test_kernels_read_and_write_through_indices():
    base, out = wp.array(DATA), wp.zeros((2, 3))
    a = wp.indexedarray(base, [wp.array(ROWS), wp.array(COLUMNS)])
    wp.launch(double, dim=a.shape, inputs=[a], outputs=[out])
    expected = DATA.copy()
    expected[np.ix_(ROWS, COLUMNS)] = -1
    assert np.array_equal(base.numpy(), expected)


def test_gradients_flow_to_the_array():
    base = wp.array(DATA, requires_grad=True)
    a = base[wp.array([1, 1, 0], dtype=int)]
    with wp.Tape() as tape:
        y = a * a
    assert y.requires_grad
    tape.backward(grads={y: wp.ones_like(y)})
    expected = np.zeros_like(DATA)
    expected[1], expected[0] = 4 * DATA[1], 2 * DATA[0]
    assert np.array_equal(base.grad.numpy(), expected)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda a: wp.indexedarray(DATA, []), TypeError, "ndarray"),
        (lambda a: wp.indexedarray(a, [ROWS]), TypeError, "ndarray"),
        (lambda a: wp.indexedarray(a, [wp.zeros(2)]), ValueError, "int32.*float32"),
        (lambda a: wp.indexedarray(a, [wp.zeros((2, 2), dtype=int)]), ValueError, "one-dimensional"),
        (lambda a: wp.indexedarray(a, [None] * 3), ValueError, r"\(3\).*\(2\)"),
        (lambda a: wp.indexedarray(a, [], dtype=int), ValueError, "int32.*float32"),
        (lambda a: wp.indexedarray(a, [], ndim=1), ValueError, r"\(1\).*\(2\)"),
        (lambda a: a[ints([0])][0, 0, 0], IndexError, "3 indices"),
        (lambda a: a[ints([0])].__setitem__(0, 1.0), TypeError, "item assignment"),
    ],
)
def test_what_indexed_arrays_refuse(make, error, words):
    with pytest.raises(error, match=words):
        make(wp.array(DATA))


# ---- Fabric ----


def test_fabric_arrays_have_their_buckets_in_order():
    data = np.arange(9, dtype=np.float32)
    a = wp.fabricarray(interface(data, [4, 0, 5]), "a")
    assert (a.shape, a.ndim, a.size, a.dtype) == ((9,), 1, 9, wp.float32)
    assert np.array_equal(a.numpy(), data)
    picked = a[ints([8, 0, 4])]
    assert np.array_equal(picked.numpy(), data[[8, 0, 4]])
    picked.fill_(-1.0)
    data[[8, 0, 4]] = -1
    assert np.array_equal(a.numpy(), data)
    wp.copy(a, wp.array(data[::-1].copy()))
    assert np.array_equal(a.numpy(), data[::-1])


@pytest.mark.parametrize(
    "data, role, dtype",
    [
        (np.ones(3, dtype=np.int32), "", wp.int32),
        (np.ones((3, 3), dtype=np.float32), "vector", wp.vec3),
        (np.ones((3, 4), dtype=np.float64), "quaternion", wp.quatd),
        (np.ones((3, 16), dtype=np.float32), "matrix", wp.mat44),
    ],
)
def test_fabric_types(data, role, dtype):
    a = wp.fabricarray(interface(data, [1, 2], role=role), "a")
    assert a.dtype is dtype
    assert np.array_equal(a.numpy().reshape(data.shape), data)


@wp.kernel
def sums(a: wp.fabricarrayarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    for j in range(row.shape[0]):
        out[i] += row[j]
        a[i, j] = 0.0


def test_fabric_arrays_of_arrays():
    rows = [np.arange(n, dtype=np.float32) + n for n in (3, 0, 5, 1)]
    totals = [float(row.sum()) for row in rows]
    given = interface(rows, [1, 3], arrays=True)
    out = wp.zeros(4)
    wp.launch(sums, dim=4, inputs=[wp.fabricarray(given, "a")], outputs=[out])
    assert out.list() == totals
    assert all(not row.numpy().any() for bucket in given["keep"][::3] for row in bucket)


def changed(**changes):
    made = interface(np.ones(3, dtype=np.float32), [3])
    made.update({k: v for k, v in changes.items() if k == "version"})
    made["attribs"]["a"].update({k: v for k, v in changes.items() if k != "version"})
    return made


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: wp.fabricarray([1], "a"), "interface dictionary, found list"),
        (lambda: wp.fabricarray(changed(version=2), "a"), "version 2"),
        (lambda: wp.fabricarray(changed(), "b"), "no attribute 'b'"),
        (lambda: wp.fabricarray(changed(type=(True, "f4", 1, 0)), "a"), "five elements, got 4"),
        (lambda: wp.fabricarray(changed(type=(True, "f4", 6, 0, "matrix")), "a"), "square element count, got 6"),
        (lambda: wp.fabricarray(changed(type=(True, "c8", 1, 0, "")), "a"), "unknown type"),
        (lambda: wp.fabricarray(changed(type=(True, "f4", 1, 2, "")), "a"), "depth 2"),
        (lambda: wp.fabricarray(changed(), "a")[0], "indexed by an array"),
    ],
)
def test_what_fabric_arrays_refuse(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# ---- in structs ----


@wp.struct
class Holder:
    plain: wp.array[float]
    indexed: wp.indexedarray[float]
    fabric: wp.fabricarray[float]
    picked: wp.indexedfabricarray[float]


@wp.kernel
def read(h: Holder, out: wp.array[float]):
    out[0] = h.plain[1]
    out[1] = h.indexed[1]
    out[2] = h.fabric[1]
    out[3] = h.picked[1]


def test_structs_hold_every_kind():
    fa = wp.fabricarray(interface(np.array([5, 6, 7], dtype=np.float32), [2, 1]), "a")
    h = Holder(
        plain=wp.array([1.0, 2.0], dtype=float),
        indexed=wp.array([3.0, 4.0], dtype=float)[ints([1, 0])],
        fabric=fa,
        picked=fa[ints([0, 2])],
    )
    for one in (h, copy.copy(h), h.to(wp.get_device())):
        out = wp.zeros(4)
        wp.launch(read, dim=1, inputs=[one], outputs=[out])
        assert out.list() == [2, 3, 6, 7]
    found = wp.array([h], dtype=Holder).list()[0]
    assert isinstance(found.fabric, wp.fabricarray) and isinstance(found.picked, wp.indexedfabricarray)
    assert found.plain.list() == [1, 2]
    assert found.to(wp.get_device()).fabric is found.fabric
    for name, kind in (
        ("plain", "a Warp array"),
        ("indexed", "a Warp indexed array"),
        ("fabric", "a Warp Fabric array"),
        ("picked", "a Warp indexed Fabric array"),
    ):
        for wrong in ([1, 2], wp.array[float], h.plain if name != "plain" else fa):
            with pytest.raises(TypeError, match=f"'{name}' expects {kind}, got {type(wrong).__name__}"):
                setattr(h, name, wrong)


# ---- annotations, subclasses, commands ----


class Tagged(wp.array):
    def __init__(self, *args, tag, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag = tag


class Fixed(wp.fixedarray):
    pass


def test_subclasses_are_arrays_but_no_types():
    a = Tagged([1.0, 2.0], dtype=float, tag="x")
    assert wp.types.is_array(a) and wp.types.is_array(wp.array[float])
    assert wp.types.type_is_array(wp.indexedarray) and not wp.types.type_is_array(Tagged)
    assert not wp.types.is_array(wp.array) and not wp.types.type_is_array(a)
    assert type(a + 1.0) is wp.array
    with pytest.raises(TypeError, match="Subscript syntax not supported for Tagged"):
        Tagged[float]


def kernel_with(annotation):
    def kernel(a: annotation):
        pass

    return kernel


@pytest.mark.parametrize(
    "annotation, words",
    [
        (wp.zeros(2), "'a' has an array with memory as its annotation"),
        (wp.zeros(2)[ints([0])], "'a' has an array with memory as its annotation"),
        (Fixed(dtype=float, shape=2), "fixedarray subclass instance as an annotation"),
    ],
)
@pytest.mark.parametrize("decorate", [wp.kernel, wp.func, wp.struct], ids=lambda d: d.__name__)
def test_arrays_are_no_annotations(annotation, words, decorate):
    before = wp.get_module(__name__).hash_module()
    what = type("S", (), {"__annotations__": {"a": annotation}}) if decorate is wp.struct else kernel_with(annotation)
    with pytest.raises(TypeError, match=words):
        decorate(what)
    assert wp.get_module(__name__).hash_module() == before


@wp.kernel
def first(a: wp.array[float], s: wp.vec2, out: wp.array[float]):
    out[0] = a[0] + s[1]


def test_commands_refuse_what_launches_refuse_and_keep_what_they_had():
    out = wp.zeros(1)
    command = wp.launch(first, 1, [wp.array([3.0], dtype=float), wp.vec2(0.0, 2.0), out], record_cmd=True)
    for index, name, wrong, words in (
        (0, "a", wp.array[float], "expects an array of type .*passed value has type ArrayAnnotation"),
        (0, "a", wp.zeros(1)[ints([0])], "expects an array of type .*passed value has type"),
        (0, "a", wp.zeros(1, dtype=int), "dtype=float32 but passed array has dtype=int32"),
        (0, "a", wp.fixedarray(dtype=float, shape=1), "a fixedarray lives in kernels only"),
        (1, "s", "text", "Failed to convert"),
    ):
        for change in (
            lambda i=index, w=wrong: command.set_param_at_index(i, w),
            lambda n=name, w=wrong: command.set_param_by_name(n, w),
        ):
            with pytest.raises(RuntimeError, match=words):
                change()
        command.launch()
        assert out.list() == [5]
    with pytest.raises(RuntimeError, match="passed value has type ArrayAnnotation"):
        wp.launch(first, 1, [wp.array[float], wp.vec2(), out], record_cmd=True)
    command.set_param_by_name("a", None)  # an array of no elements
    command.set_param_by_name("a", Tagged([8.0], dtype=float, tag="y"))
    command.launch()
    assert out.list() == [10]


def test_fixed_arrays_are_no_arguments():
    @wp.kernel
    def generic(a: wp.array(dtype=wp.Float), out: wp.array[float]):
        out[0] = float(a[0])

    value = Fixed(dtype=float, shape=1)
    with pytest.raises(TypeError, match="fixedarray"):
        wp.launch(generic, dim=1, inputs=[value, wp.zeros(1)])
    with pytest.raises(TypeError, match="fixedarray"):
        wp.overload(generic, [value, wp.array[float]])
    assert generic.overloads == {}
    types = generic.infer_argument_types([wp.zeros(1, dtype=wp.float64), wp.zeros(1)])
    assert types[0] == wp.array[wp.float64]
    generic.add_overload(types)
    assert len(generic.overloads) == 1


@wp.kernel
def slices(a: wp.array3d[float], out: wp.array[float]):
    part = a[1:]
    out[0] = float(part.ndim * 100 + part.shape[0] * 10 + part.shape[2])
    part = a[0, :, 1:]
    out[1] = float(part.ndim * 100 + part.shape[0] * 10 + part.shape[1])
    part = a[1, 2]
    out[2] = part[3]


def test_a_name_may_stand_for_slices_of_other_dimensions():
    out = wp.zeros(3)
    wp.launch(slices, dim=1, inputs=[wp.array(np.arange(24, dtype=np.float32).reshape(2, 3, 4))], outputs=[out])
    assert out.list() == [314, 233, 23]


def test_slices_of_other_dimensions_where_paths_meet_are_refused():
    @wp.kernel
    def kernel(a: wp.array2d[float], n: int):
        part = a[1:]
        if n > 0:
            part = a[0]
        part[0] = 1.0

    with pytest.raises(wp.WarpCodegenTypeError, match="a name keeps its type"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros((2, 2)), 1])


# ---- other libraries ----


@pytest.mark.host("NumPy takes part")
def test_dlpack_capsules():
    a = wp.array(DATA)
    back = wp.from_dlpack(wp.to_dlpack(a))
    assert back.ptr == a.ptr and np.array_equal(back.numpy(), DATA)
    vectors = wp.from_dlpack(np.ones((5, 3), dtype=np.float32), dtype=wp.vec3)
    assert (vectors.shape, vectors.dtype) == ((5,), wp.vec3)


@pytest.mark.host("memory of NumPy")
def test_launches_ask_what_lies_on_the_host_for_its_memory_there():
    data = np.array([2.0, 3.0], dtype=np.float32)

    class Both:
        __array_interface__ = data.__array_interface__

        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("there is no device")

    out = wp.zeros(1)
    wp.launch(first, dim=1, inputs=[Both(), wp.vec2(0.0, 1.0)], outputs=[out])
    assert out.list() == [3]


@pytest.mark.host("memory of NumPy")
def test_pointers_and_interfaces():
    data = DATA.copy()
    a = wp.array(ptr=data.ctypes.data, shape=data.shape, dtype=float)
    a.fill_(3.0)
    assert (data == 3).all()

    class Like:
        __array_interface__ = data.__array_interface__

    assert wp.array(Like(), dtype=float, copy=False).ptr == data.ctypes.data
    assert np.shares_memory(np.asarray(a), data)
    assert wp.from_numpy(data).dtype == wp.types.vector(4, wp.float32)
    with pytest.raises(TypeError, match="needs a shape"):
        wp.array(ptr=data.ctypes.data, dtype=float)
