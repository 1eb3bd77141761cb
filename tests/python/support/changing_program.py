"""A program whose text stays and whose meaning does not: run with a variant, 1 or 2, it launches a kernel for each way
in which code depends on more than its own text, and prints what each gave, what it should have given (computed in plain
Python), and whether the kernel's source had to be read. Run by test_source_keys.py, with one cache for all variants."""

import collections
import enum
import json
import sys
import types

import numpy as np

import warp as wp

VARIANT = int(sys.argv[1])
wp.config.quiet = True
wp.set_device("cpu")

CASES = []


def case(function):
    CASES.append(function)
    return function


def run(kernel, *inputs, dtype=float):
    """What the kernel leaves in the only element of its last array."""
    out = wp.zeros(1, dtype=dtype)
    wp.launch(kernel, 1, inputs=[*inputs, out])
    return kernel, out.numpy()[0].tolist()


def of(first, second):
    return first if VARIANT == 1 else second


# ---- values ----

NUMBER = of(3.0, 5.0)


@case
def global_number():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = NUMBER

    return *run(kernel), NUMBER


@case
def closure():
    value = of(2, 7)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(value)

    return *run(kernel), value


@case
def number_of_another_kind():
    value = of(1, 1.0)

    @wp.func
    def kind(x: int):
        return 10.0

    @wp.func
    def kind(x: float):  # noqa: F811
        return 20.0

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = kind(value)

    return *run(kernel), of(10.0, 20.0)


@case
def typed_value():
    value = of(wp.uint8(200), wp.int8(-56))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(value)

    return *run(kernel), of(200.0, -56.0)


@case
def vector():
    value = wp.vec3(1.0, 2.0, of(3.0, 4.0))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = value[2]

    return *run(kernel), of(3.0, 4.0)


@case
def zero_and_minus_zero():
    value = of(0.0, -0.0)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = 1.0 / value

    return *run(kernel), of(float("inf"), -float("inf"))


@case
def attribute_of_an_object():
    settings = types.SimpleNamespace(inner=types.SimpleNamespace(gain=of(1.5, 2.5)))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = settings.inner.gain

    return *run(kernel), settings.inner.gain


@case
def another_object():
    first, second = types.SimpleNamespace(gain=1.0), types.SimpleNamespace(gain=10.0)
    a, b = (first, first) if VARIANT == 1 else (first, second)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = a.gain + b.gain

    return *run(kernel), a.gain + b.gain


@case
def attribute_of_a_module():
    settings = types.ModuleType("settings")
    settings.gain = of(1.5, 2.5)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = settings.gain

    return *run(kernel), settings.gain


@case
def attribute_of_a_class():
    class Settings:
        gain = of(4.5, 6.5)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = Settings.gain

    return *run(kernel), Settings.gain


@case
def enumeration():
    class Kind(enum.IntEnum):
        A = of(1, 11)
        B = 2

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(int(Kind.A))

    return *run(kernel), of(1, 11)


@case
def members_of_an_enumeration():
    members = of({"A": 1, "B": 2}, {"A": 1, "B": 2, "C": 4})
    Kind = enum.IntEnum("Kind", members)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        total = float(0.0)
        for kind in Kind:
            total += float(int(kind))
        out[0] = total

    return *run(kernel), sum(members.values())


@case
def named_tuple():
    pair = collections.namedtuple("pair", "a b")(1.0, of(2.0, 3.0))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = pair.a + pair.b

    return *run(kernel), pair.a + pair.b


@case
def numpy_number():
    value = of(np.float64(0.25), np.float64(0.75))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = value

    return *run(kernel), float(value)


# ---- functions ----


@wp.func
def once(x: float):
    return x + 1.0


@wp.func
def twice(x: float):
    return x * 2.0


@case
def function_by_closure():
    chosen = of(once, twice)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = chosen(10.0)

    return *run(kernel), of(11.0, 20.0)


renamed = of(once, twice)


@wp.func
def calls_renamed(x: float):
    return renamed(x) * 100.0


@case
def function_that_a_function_calls():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = calls_renamed(10.0)

    return *run(kernel), of(1100.0, 2000.0)


@wp.func
def reads_a_global(x: float):
    return x * NUMBER


@case
def global_of_a_function():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = reads_a_global(10.0)

    return *run(kernel), 10 * NUMBER


@case
def closure_of_a_function():
    def make(gain):
        @wp.func
        def scaled(x: float):
            return x * gain

        return scaled

    scaled = make(of(3.0, 4.0))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = scaled(2.0)

    return *run(kernel), 2 * of(3.0, 4.0)


@case
def function_of_an_object():
    tools = types.SimpleNamespace(work=of(twice, once))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = tools.work(10.0)

    return *run(kernel), of(20.0, 11.0)


@case
def function_as_an_argument():
    chosen = of(once, twice)

    @wp.func
    def applied(f: wp.Function, x: float):
        return f(f(x))

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = applied(chosen, 10.0)

    return *run(kernel), of(12.0, 40.0)


@case
def overload_that_is_added():
    @wp.func
    def kind(x: wp.float64):
        return 64.0

    if VARIANT == 2:

        @wp.func
        def kind(x: wp.float32):
            return 32.0

    else:

        @wp.func
        def kind(x: wp.int32):
            return 1.0

    # Without one for float32 the first that takes it is meant.
    chosen = of(wp.int32, wp.float32)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(kind(chosen(3)))

    return *run(kernel), of(1.0, 32.0)


@case
def annotation_of_a_function():
    Number = of(wp.int32, wp.int64)

    @wp.func
    def big(x: Number):
        return x * x

    @wp.kernel
    def kernel(n: Number, out: wp.array(dtype=float)):
        out[0] = float(big(n))

    return *run(kernel, 65536), of(0.0, 65536.0**2)


@case
def default_of_a_function():
    @wp.func
    def scaled(x: float, gain: float = of(2.0, 8.0)):
        return x * gain

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = scaled(1.0)

    return *run(kernel), of(2.0, 8.0)


@case
def operator_of_the_user():
    @wp.struct
    class Pair:
        a: float

    @wp.func
    def add(x: Pair, y: Pair):
        return Pair(x.a * y.a)

    @wp.func
    def other(x: Pair, y: Pair):
        return Pair(x.a - y.a)

    add = of(add, other)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = add(Pair(5.0), Pair(2.0)).a

    return *run(kernel), of(10.0, 3.0)


if VARIANT == 2:

    @wp.func
    def mul(x: wp.vec2, y: wp.vec2):
        return wp.vec2(x[0] * y[0], 1000.0)


@case
def operator_that_appears():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        v = wp.vec2(3.0, 4.0)
        out[0] = wp.cw_mul(v, v)[1] + used(v)

    return *run(kernel), of(16.0 + 1.0, 16.0 + 1000.0)


@wp.func
def plain(v: wp.vec2):
    return 1.0


@wp.func
def by_operator(v: wp.vec2):
    return (v * v)[1]


used = of(plain, by_operator)

if VARIANT == 2:

    @wp.func
    def sin(x: float):
        return 77.0


@case
def builtin_that_is_shadowed():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = sin(0.0)

    return *run(kernel), of(0.0, 77.0)


@case
def builtin_by_another_name():
    f = of(wp.min, wp.max)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = f(1.0, 2.0)

    return *run(kernel), of(1.0, 2.0)


@case
def native_snippet():
    @wp.func_native(f"return x * {of(3, 9)}.0f;")
    def native(x: float) -> float: ...

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = native(2.0)

    return *run(kernel), 2 * of(3.0, 9.0)


# ---- types ----


@case
def struct():
    if VARIANT == 1:

        @wp.struct
        class Pair:
            a: float
            b: float

    else:

        @wp.struct
        class Pair:
            b: float
            a: float

    @wp.kernel
    def kernel(pairs: wp.array(dtype=Pair), out: wp.array(dtype=float)):
        out[0] = pairs[0].a

    pair = Pair()
    pair.a, pair.b = 1.0, 2.0
    return *run(kernel, wp.array([pair], dtype=Pair)), 1.0


@case
def struct_of_other_numbers():
    @wp.struct
    class Counted:
        n: of(wp.int32, wp.int64)
        x: float

    @wp.kernel
    def kernel(c: Counted, out: wp.array(dtype=float)):
        out[0] = c.x + float(c.n * c.n)

    value = Counted()
    value.n, value.x = 65536, 512.0
    return *run(kernel, value), of(512.0, 65536.0**2 + 512.0)


@case
def captured_struct():
    @wp.struct
    class Settings:
        gain: float

    settings = Settings()
    settings.gain = of(1.25, 2.25)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = settings.gain

    return *run(kernel), settings.gain


@case
def constant_of_a_struct():
    @wp.struct
    class Settings:
        gain: float
        LIMIT = of(12, 13)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(Settings.LIMIT)

    return *run(kernel), of(12, 13)


@case
def type_of_an_array():
    Number = of(wp.float32, wp.float64)

    @wp.kernel
    def kernel(a: wp.array(dtype=Number), out: wp.array(dtype=Number)):
        out[0] = a[0] + Number(1.0e-9)

    return *run(kernel, wp.ones(1, dtype=Number), dtype=Number), of(1.0, 1.0 + 1.0e-9)


@case
def annotation_as_text():
    Number = of(wp.float32, wp.float64)

    @wp.kernel
    def kernel(a: "wp.array(dtype=Number)", out: "wp.array(dtype=Number)"):
        out[0] = a[0] + Number(1.0e-9)

    return *run(kernel, wp.ones(1, dtype=Number), dtype=Number), of(1.0, 1.0 + 1.0e-9)


@case
def type_by_name():
    Vector = of(wp.vec2, wp.vec4)

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(len(Vector()))

    return *run(kernel), of(2, 4)


@case
def instance_of_a_generic_kernel():
    @wp.kernel
    def kernel(a: wp.array(dtype=wp.Scalar), out: wp.array(dtype=float)):
        out[0] = float(a[0] / a.dtype(2))

    return *run(kernel, wp.ones(1, dtype=of(int, float))), of(0.0, 0.5)


@case
def pattern_of_a_function():
    Any, Scalar = of((wp.Scalar, wp.Int), (wp.Int, wp.Scalar))

    @wp.func
    def kind(x: Any):
        return 1.0

    @wp.func
    def kind(x: Scalar):  # noqa: F811
        return 2.0

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = kind(1.5)

    return *run(kernel), of(1.0, 2.0)


# ---- wp.static ----


@case
def static_value():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = wp.static(NUMBER * 2.0)

    return *run(kernel), NUMBER * 2


@case
def static_in_a_loop():
    table = of([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        total = float(0.0)
        for i in range(3):
            total += wp.static(table[i])
        out[0] = total

    return *run(kernel), sum(table)


@case
def static_function():
    functions = {"once": once, "twice": twice}
    name = of("once", "twice")

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = wp.static(functions[name])(10.0)

    return *run(kernel), of(11.0, 20.0)


@case
def static_by_another_name():
    constant = wp.static
    value = {"x": of(5.0, 6.0)}

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = constant(value["x"])

    return *run(kernel), of(5.0, 6.0)


@case
def static_in_a_function():
    table = of([10.0], [20.0])

    @wp.func
    def looked_up():
        return wp.static(table[0])

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = looked_up()

    return *run(kernel), of(10.0, 20.0)


# ---- settings ----


@case
def checks_of_the_mode():
    @wp.kernel(module="unique", module_options={"mode": of("release", "safe")})
    def kernel(n: int, out: wp.array(dtype=float)):
        out[0] = float(7 / n) + 1.0

    try:
        return *run(kernel, 0), of(1.0, "refused")
    except RuntimeError:
        return kernel, "refused", of(1.0, "refused")


@case
def asserts_of_the_mode():
    wp.config.mode = of("release", "debug")

    @wp.kernel
    def kernel(n: int, out: wp.array(dtype=float)):
        assert n > 0
        out[0] = 1.0

    line = asserts_of_the_mode.__code__.co_firstlineno + 6
    try:
        result = run(kernel, 0)[1]
    except RuntimeError as error:
        result = f"line {line}\n" in str(error)
    finally:
        wp.config.mode = "release"
    return kernel, result, of(1.0, True)


@case
def verified_numbers():
    wp.config.verify_fp = of(False, True)

    @wp.kernel
    def kernel(x: float, out: wp.array(dtype=float)):
        out[0] = 1.0 / x

    try:
        result = run(kernel, 0.0)[1]
    except RuntimeError:
        result = "refused"
    finally:
        wp.config.verify_fp = False
    return kernel, result, of(float("inf"), "refused")


@case
def size_of_blocks():
    wp.config.enable_cpu_blocks = True

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = float(wp.block_dim())

    out = wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, inputs=[out], block_dim=of(32, 64))
    wp.config.enable_cpu_blocks = False
    return kernel, out.numpy()[0].tolist(), of(32.0, 64.0)


# ---- several kernels of one definition ----


@case
def factory():
    def make(value):
        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            out[0] = float(value)

        return kernel

    values = [VARIANT * 100 + i for i in range(5)]
    results = [run(make(value)) for value in values]
    return results[-1][0], [result for _, result in results], [float(v) for v in values]


# ---- gradients ----


def gradient_of(kernel, at, afterwards=None):
    x = wp.array([at], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 1, inputs=[x, y])
    if afterwards is not None:
        afterwards()
    tape.backward(grads={y: wp.ones(1, dtype=float)})
    return kernel, x.grad.numpy()[0].tolist()


@case
def gradient():
    factor = of(3.0, 5.0)

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = factor * x[0] * x[0]

    return *gradient_of(kernel, 2.0), factor * 4.0


@case
def gradient_of_what_was_launched():
    # What the program changes between a launch and its gradient counts for neither.
    settings = types.SimpleNamespace(gain=of(2.0, 6.0))

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = settings.gain * x[0]

    return *gradient_of(kernel, 1.0, lambda: setattr(settings, "gain", 1000.0)), of(2.0, 6.0)


@case
def gradient_by_hand():
    factor = of(10.0, 20.0)

    @wp.func
    def square(x: float):
        return x * x

    @wp.func_grad(square)
    def adj_square(x: float, adj: float):
        wp.adjoint[x] += adj * factor

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = square(x[0])

    return *gradient_of(kernel, 1.0), factor


@case
def gradient_by_hand_that_appears():
    @wp.func
    def square(x: float):
        return x * x

    if VARIANT == 2:

        @wp.func_grad(square)
        def adj_square(x: float, adj: float):
            wp.adjoint[x] += adj * 55.0

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = square(x[0])

    return *gradient_of(kernel, 4.0), of(8.0, 55.0)


@case
def native_gradient():
    @wp.func_native("return x;", adj_snippet=f"adj_x += adj_ret * {of(4, 6)}.0f;")
    def native(x: float) -> float: ...

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = native(x[0])

    return *gradient_of(kernel, 1.0), of(4.0, 6.0)


@case
def replay():
    factor = of(3.0, 7.0)

    @wp.func
    def number(x: float):
        return x * 2.0

    @wp.func_replay(number)
    def again(x: float):
        return x * factor

    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        z = number(x[0])
        y[0] = z * z

    # The adjoint squares what the replay says: 2 * (factor * x) * 2.
    return *gradient_of(kernel, 1.0), 4.0 * factor


results = {}
for each in CASES:
    kernel, found, expected = each()
    results[each.__name__] = {
        "found": found,
        "expected": expected,
        "read": kernel._function is None and kernel.source_milliseconds > 0,
    }
print(json.dumps(results))
