"""Which probes of Warp's semantics give something else here, by the decision in docs/language.md.

A probe is one small program with the outcome that Warp gave; `check_probes.py` runs them. A key is the number of a case
there, or the beginning of a row of the table *Beyond Warp*, or the section *Classes of errors*.
"""

RESULTS = {
    "1": ["lit.value -2147483649", "lit.value 4294967296", "cap.big int"],
    "2": [
        "arg.int given np.int64(2**40)",
        "arg.int given 2**32 + 5",
        "arg.int given 2**40",
        "arg.int given -2**31 - 1",
        "arg.wp.uint32 given 2**32",
        "arg.wp.int8 given -129",
        "arg.wp.uint8 given 300",
    ],
    "3": ["arg.wp.bool given None", "arg.wp.bool given 'x'"],
    "4": ["arg.struct given other struct", "tape.grads dict wrong shape"],
    "5": [
        "div.int32 7 // 0",
        "div.literals 7 // 0",
        "div.int32 7 % 0",
        "div.literals 7 % 0",
        "div.int32 7 / 0",
        "div.literals 7 / 0",
        "div.int min // -1",
    ],
    "6": ["lit.cast int(1e20)", "shift.literal 1<<32", "lit.cast var uint32(float32)"],
    "7": ["zero.-x", "edge.atan2(x, -x)"],
    "9": ["var.defined in if only, not taken"],
    "10": ["var.for else", "var.while else"],
    "11": ["var.range step zero literal"],
    "12": ["var.func missing return on one path"],
    "13": [
        "idx.vec literal out of range",
        "idx.mat literal out of range",
        "attr.array.shape[-1]",
        "attr.array.size",
    ],
    "14": ["idx.array out of range, debug mode"],
    "19": ["arg.array1d float given numpy 2-D"],
    "20": [
        "fill.float a.assign(wp.array([1, 2], dtype=int))",
        "fill.float a.assign([1.0])",
        "fill.float wp.copy(a, wp.array([1, 2], dtype=int))",
    ],
    "21": ["fill.uint8 with 300"],
    "23": ["syn.kernel default argument", "syn.printf too many", "syn.print array"],
    "24": [
        "tape.o[i] *= ",
        "tape.input overwritten in kernel",
        "tape.input changed after launch",
        "tape.run-time loop, product",
        "tape.vec component write",
    ],
    "25": ["grad.pow(0.0, x)", "grad.where(x > 0.0, sqrt(x), 0.0)", "grad.frac(x)"],
    "28": ["var.assert false, debug"],
    "29": ["lit.vec3!=vec3", "var.C++ keyword as argument", "attr.array.strides[0]"],
    "Literals changed in run-time loops": [
        "var.constant mutated in run-time loop",
        "var.constant mutated in run-time loop, assignment",
        "var.constant float mutated in while",
        "var.constant bool flag in loop",
        "var.swap in run-time loop",
    ],
    "`a = b = c`": ["var.chained assignment", "var.swap of array elements"],
    "`for` over tuples": ["var.for over tuple", "var.for over vec"],
    "`range` of any integer type": ["var.range int64", "syn.print several", "static.string result"],
    "Structs in kernels": ["struct.constructor keywords", "cap.struct instance"],
    "What is captured": ["cap.numpy float64", "cap.IntEnum", "cap.named tuple"],
    "Older forms": ["edge.select", "lit.mat22 from vecs"],
    "Extents beyond 31 bits": ["new.zeros 5-D"],
    "Types of arrays by NumPy's name": ["new.string dtype", "new.numpy dtype", "set.a[1:3] += 1.0"],
    "Names of classes": [
        "slice.a[wp.array([2, 0], dtype=int)]",
        "text.values",
        "text.types",
        "py.wp.vec3(1.0) + 1.0",
        "py.wp.vec3(1.0, 2.0, 3.0)[0:2]",
        "py.wp.mat22([[1.0, 2.0], [3.0, 4.0]])[1]",
        "struct.python scope",
    ],
}

# Both refuse, and our exception does not derive from Warp's: there it is an accident of its own code.
CLASSES = {
    "constructs that the language does not have": [
        "cmp.array is None",
        "func.recursion",
        "func.mutual recursion",
        "syn.nested def",
        "syn.is",
        "syn.is not None",
        "syn.in tuple",
        "syn.not in",
        "syn.bytes",
        "syn.decorated",
        "syn.kernel lambda",
    ],
    "values of the wrong type": [
        "var.func without return used",
        "idx.vec slice assign scalar",
        "attr.array.dtype",
        "arg.struct given dict",
        "new.nothing",
    ],
    "indices at Python scope": ["slice.a[4]"],
}


def ids(table):
    return {probe for probes in table.values() for probe in probes}
