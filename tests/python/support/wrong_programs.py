"""Programs with one mistake each: a name, the kernel's text with the place marked by «», and a part of the message.

Every program starts as HEAD; a row is the body of a kernel `k` whose parameters are PARAMETERS. A row may bring
functions of its own in front, separated by a line of three dashes. The caret must stand where « does, and the line be
that line.
"""

HEAD = """
import warp as wp
from typing import Any

@wp.struct
class S:
    a: int
    v: wp.vec3

    def double(self):
        return 2 * self.a

@wp.func
def twice(x: float) -> float:
    return x * 2.0

@wp.func
def nothing(x: float):
    x = x + 1.0

@wp.func
def by_reference(x: wp.ref[float]):
    x += 1.0

class Thing:
    pass

some_object = Thing()
some_list = [1, 2]
some_dict = {}
none = None
"""

PARAMETERS = "x: wp.array(dtype=float), y: wp.array2d(dtype=float), n: int, v: wp.vec3, m: wp.mat22, s: S, u: wp.uint8"

ROWS = [
    # names
    ("unknown name", "x[0] = «nam»", "Referencing undefined symbol: nam"),
    ("unknown function", "x[0] = «sine»(1.0)", "Referencing undefined symbol: sine"),
    ("unknown builtin of wp", "x[0] = «wp.sine»(1.0)", "Could not find function wp.sine"),
    ("read before assignment", "x[0] = «later»\nlater = 1.0", "`later`"),
    ("list", "x[0] = float(«some_list»[0])", "some_list"),
    ("dict", "x[0] = «some_dict»[0]", "some_dict"),
    ("none captured", "x[0] = «none»", "`none` is None"),
    ("python function", "x[0] = «sorted»(x)", "sorted"),
    ("member", "x[0] = «s.b»", "`b` is not an attribute of struct S"),
    ("component", "x[0] = «v.w»", "`w` is not an attribute of vec3"),
    ("attribute of scalar", "x[0] = «n.x»", "`x` is not an attribute of int32"),
    ("attribute of array", "x[0] = «x.sum»", "`sum` is not an attribute of array(dtype=float32)"),
    ("adjoint outside", "x[0] = «wp.adjoint[x]»", "wp.adjoint"),
    # types
    ("int plus float", "x[0] = «n + 1.0»", "`+` has no meaning for int32 and float32"),
    ("float plus int", "x[0] = «x[0] * 2»", "`*` has no meaning for float32 and int32"),
    ("vec plus scalar", "x[0] = («v + 1.0»)[0]", "`+` has no meaning for vec3 and float32"),
    ("vec times vec", "x[0] = («v * v»)[0]", "`*` has no meaning for vec3 and vec3"),
    ("matrix shapes", "q = «m * v»", "has no meaning for mat22 and vec3"),
    ("pow of ints", "q = «n ** 2»", "`**` has no meaning for int32"),
    ("bits of floats", "q = «x[0] & 1.0»", "`&` has no meaning for float32"),
    ("invert float", "q = «~x[0]»", "`~` has no meaning for float32"),
    ("cast to another size", "q = «wp.cast(x[0], wp.float64)»", "float32 has 4 bytes, float64 has 8"),
    ("cast of an array", "q = «wp.cast(x, wp.uint64)»", "cast reinterprets values without arrays"),
    ("minus bool", "q = «-(n > 0)»", "`-` has no meaning for bool"),
    ("not float", "q = not «x[0]»", "`not` needs a bool or an integer"),
    ("store int", "«x[0]» = n", "a place of type float32 cannot hold int32"),
    ("store literal int", "«x[0]» = 3", "a place of type float32 cannot hold int32"),
    ("store vec", "«x[0]» = v", "cannot hold vec3"),
    ("store member", "«s.a» = 1.0", "a place of type int32 cannot hold float32"),
    ("store component", "«v[0]» = 1", "a place of type float32 cannot hold int32"),
    ("augment other type", "x[0] += «1»", "needs that type, found int32"),
    ("augment bits", "«x[0] |= 1.0»", "needs integers"),
    ("name changes type", "q = 1.0\nq = «1»", "`q` is float32 and cannot become int32"),
    ("name in branches", "if n > 0:\n    q = 1.0\nelse:\n    q = «1»", "cannot become int32"),
    ("conditional of two types", "q = «1.0 if n > 0 else 1»", "need one type"),
    ("where of two types", "q = «wp.where(n > 0, 1.0, 1)»", "two values of one type"),
    ("where with float", "q = wp.where(«x[0]», 1.0, 2.0)", "a bool or an integer as its condition"),
    ("min of two types", "q = «wp.min(1.0, n)»", "`min` has no form for (float32, int32)"),
    ("sine of int", "q = «wp.sin(n)»", "`sin` has no form for (int32)"),
    ("dot of vec and float", "q = «wp.dot(v, 1.0)»", "`dot` has no form"),
    ("wrong count for builtin", "q = «wp.sin(1.0, 2.0)»", "`sin` has no form"),
    ("compare vec with scalar", "q = «v == 1.0»", "cannot compare vec3 with float32"),
    ("order of vecs", "q = «v < v»", "cannot compare vec3 with vec3"),
    ("compare with None", "q = «x == None»", "None cannot be compared"),
    ("is", "q = «x is None»", "`is` is not supported"),
    ("in", "q = «n in v»", "`in` is not supported"),
    ("condition of vec", "if «v»:\n    pass", "a condition needs"),
    ("condition of string", 'if «"a"»:\n    pass', "a condition needs"),
    ("while of vec", "while «v»:\n    pass", "a condition needs"),
    ("string as value", "x[0] = «'a'»", "a value is needed here, found a string"),
    ("type as value", "x[0] = «float»", "a value is needed here, found the type"),
    ("function as value", "x[0] = «twice»", "a value is needed here, found the function"),
    ("nothing as value", "x[0] = «nothing(1.0)»", "returns nothing"),
    ("none assigned", "q = «None»", "None cannot be assigned"),
    # literals
    ("large literal", "q = «4294967296»", "does not fit int32"),
    ("huge literal", "q = «99999999999999999999999»", "does not fit int32"),
    ("division by literal zero", "q = «n / 0»", "integer division by zero"),
    ("modulo by literal zero", "q = «n % 0»", "integer division by zero"),
    ("shift too far", "q = «n << 32»", "shift by 32"),
    ("shift of short", "q = «u >> wp.uint8(9)»", "shift by 9"),
    ("float too large to cast", "q = int(«1e20»)", "does not fit int32"),
    # indices
    ("float index", "q = x[«1.0»]", "an index needs an integer, found float32"),
    ("bool index", "q = x[«n > 0»]", "an index needs an integer, found bool"),
    ("too many indices", "q = «x[0, 1]»", "has 1 dimension, found 2 indices"),
    ("too many indices of 2-D", "q = «y[0, 1, 2]»", "has 2 dimensions, found 3 indices"),
    ("vec index out of range", "q = v[«3»]", "index 3 is out of range"),
    ("vec index too negative", "q = v[«-4»]", "index -4 is out of range"),
    ("matrix row out of range", "q = m[«2», 0]", "index 2 is out of range"),
    ("matrix column out of range", "q = m[0, «2»]", "index 2 is out of range"),
    ("three indices of a matrix", "q = «m[0, 1, 0]»", "one or two indices"),
    ("two indices of a vec", "q = «v[0, 1]»", "takes one index"),
    ("shape out of range", "q = y.shape[«8»]", "there is no shape[8]"),
    ("index of scalar", "q = «n[0]»", "int32 cannot be indexed"),
    ("index of struct", "q = «s[0]»", "S cannot be indexed"),
    ("tuple index out of range", "t = (1, 2)\nq = «t[2]»", "a tuple of 2"),
    ("tuple index at run time", "t = (1, 2)\nq = «t[n]»", "known when the kernel is compiled"),
    ("slice of vec at run time", "q = v[«n»:]", "must be known"),
    ("empty slice of vec", "q = v[«2:1»]", "empty"),
    ("slice with step zero", "q = x[«::0»]", "Slice step cannot be zero"),
    ("slice of vec with step zero", "q = v[«::0»]", "Slice step cannot be zero"),
    ("store to slice of array", "«x[0:2]» = 1.0", "one element at a time"),
    ("store to row of array", "«y[0]» = 1.0", "one element at a time"),
    ("slice of wrong length", "«v[0:2]» = v", "cannot hold vec3"),
    # calls
    ("too few arguments", "q = «twice()»", "needs a value for `x`"),
    ("too many arguments", "q = «twice(1.0, 2.0)»", "takes 1 arguments, found 2"),
    ("unknown keyword", "q = «twice(z=1.0)»", "has no parameter `z`"),
    ("argument twice", "q = «twice(1.0, x=1.0)»", "gets `x` twice"),
    ("argument of other type", "q = «twice(1)»", "needs float32 for `x`, found int32"),
    ("number called", "q = «n»(1)", "cannot be called"),
    ("vec of two", "q = «wp.vec3(1.0, 2.0)»", "vec3(...) takes"),
    ("matrix of three", "q = «wp.mat22(1.0, 2.0, 3.0)»", "mat22(...) takes"),
    ("float of vec", "q = float(«v»)", "needs a number, found vec3"),
    ("float of nothing", "q = «float()»", "takes one number"),
    ("struct of too many", "q = «S(1, v, 2)»", "S(...) takes"),
    ("struct of other type", "q = S(«1.0», v)", "member `a` of S is int32, found float32"),
    ("starred scalar", "q = wp.vec2(«*n»)", "Starred expressions are only supported for"),
    ("starred slice without end", "q = wp.vec2(*x[«1:»])", "requires explicit upper bound"),
    ("starred slice at run time", "q = wp.vec2(*x[:«n»])", "must be a compile-time constant"),
    ("atomic on scalar", "«wp.atomic_add(n, 0, 1)»", "atomic_add needs an array"),
    ("atomic without index", "«wp.atomic_add(x, 1.0)»", "1 index and a value"),
    ("atomic of other type", "wp.atomic_add(x, 0, «1»)", "needs that type, found int32"),
    ("tid with argument", "q = «wp.tid(1)»", "takes no arguments"),
    ("tid in function", "q = f()\n---\n@wp.func\ndef f():\n    return «wp.tid()»", "in kernels only"),
    ("len of int", "q = len(«n»)", "len needs"),
    ("printf without format", "«wp.printf(n)»", "needs a string as its format"),
    ("printf of other type", 'wp.printf("%d", «1.0»)', "%d needs an integer"),
    ("printf with too few", '«wp.printf("%d %d", 1)»', "more conversions"),
    ("printf with too many", 'wp.printf("%d", 1, «2»)', "conversions"),
    ("reference to literal", "by_reference(«1.0»)", "has no address"),
    ("reference to literal name", "q = 1.0\nby_reference(«q»)", "stands for a literal"),
    ("reference to other type", "«by_reference(n)»", "needs ref[float32]"),
    ("address of sum", "q = wp.address_of(«n + 1»)", "has no address"),
    ("local array of run-time size", "q = wp.zeros(shape=«n», dtype=float)", "known when the kernel is compiled"),
    ("local array of no size", "q = wp.zeros(shape=«0», dtype=float)", "at least one element"),
    ("gradient of a number", "q = «wp.grad(n)»", "grad takes one function"),
    ("recursion", "q = r(1.0)\n---\n@wp.func\ndef r(x: float) -> float:\n    return «r(x)»", "recursion"),
    (
        "returned types differ",
        "q = r(n)\n---\n@wp.func\ndef r(n: int):\n    if n > 0:\n        return 1.0\n    «return 1»",
        "returns a value of type `int32` here and a value of type `float32`",
    ),
    (
        "path without return",
        "q = r(n)\n---\n@wp.func\n«def r»(n: int):\n    if n > 0:\n        return 1.0",
        "without `return`",
    ),
    (
        "other than annotated",
        "q = r(n)\n---\n@wp.func\ndef r(n: int) -> float:\n    «return n»",
        "return type annotated as `float`",
    ),
    # statements
    ("struct member by a wrong name", "q = S(a=1, w=«v»)", "`w` is not an attribute of struct S"),
    ("struct member twice", "q = S(1, a=«2»)", "gets member `a` twice"),
    ("struct member of another type", "q = S(a=«1.0»)", "member `a` of S is int32, found float32"),
    ("struct with too few members", "q = «S(1)»", "takes nothing or all 2 members, found 1"),
    ("function rebound", "f = wp.sin\n«f» = wp.cos\nq = f(x[0])", "rebinding function-valued local `f`"),
    ("function becomes a number", "f = wp.sin\n«f» = 1.0", "to a non-function value"),
    ("gradient rebound", "f = wp.grad(twice)\n«f» = 1.0", "Cannot reassign local 'f'"),
    ("gradient augmented", "f = wp.grad(twice)\n«f» += 1.0", "Cannot reassign local 'f'"),
    ("kernel returns None", "«return None»", "Warp kernels cannot return values"),
    ("static array", "q = wp.static(«wp.zeros(3)»)", "a Warp array cannot be created inside Warp kernels"),
    ("static None", "q = wp.static(«none»)", "None is returned"),
    ("static object", "q = wp.static(«some_dict»)", "value of type a dict"),
    ("static object of a class", "q = wp.static(«some_object»)", "value of type Thing"),
    ("object as a value", "q = «some_object» + 1.0", "a Thing"),
    ("attribute of an object", "q = «some_object.size»", "`size` is not an attribute of a Thing"),
    ("static member", "q = «S.b»", "`b` is not an attribute of the type S"),
    ("method that is Python's", "q = «s.double»()", "`double` is not an attribute of struct S"),
    ("kernel returns", "«return 1»", "Warp kernels cannot return values"),
    ("two names for three", "«a, b» = (1, 2, 3)", "2 names for 3 values"),
    ("unpacking a number", "a, b = «n»", "several names need several values"),
    ("assignment to a result", "«twice(1.0)[0]» = 1.0", "cannot be indexed"),
    ("for over a number", "for i in «n»:\n    pass", "`for` goes over"),
    ("for over an array", "for i in «x»:\n    pass", "`for` goes over"),
    ("range of float", "for i in range(«1.0»):\n    pass", "range needs int32"),
    ("range of nothing", "for i in «range()»:\n    pass", "range takes 1 to 3 arguments"),
    ("range of step zero", "for i in «range(0, 4, 0)»:\n    pass", "step of this range is 0"),
    ("range outside for", "q = «range(3)»", "can stand in a `for` only"),
    ("else of for", "for i in range(3):\n    pass\nelse:\n    «pass»", "`else` of a loop"),
    ("else of while", "while n > 0:\n    break\nelse:\n    «pass»", "`else` of a loop"),
    ("list literal", "q = «[1, 2]»", "kernels cannot contain a list"),
    ("dict literal", "q = «{}»", "kernels cannot contain a dict"),
    ("comprehension", "q = «[i for i in range(3)]»", "a list comprehension"),
    ("lambda", "q = «lambda: 1»", "a lambda"),
    ("f-string", 'q = «f"{n}"»', "an f-string"),
    ("with", "«with x:\n    pass»", "a with statement"),
    ("try", "«try:\n    pass\nfinally:\n    pass»", "a try statement"),
    ("raise", "«raise x»", "raise"),
    ("import", "«import os»", "an import"),
    ("delete", "«del n»", "del"),
    ("nested function", "«def f(): pass»", "a nested function"),
    ("annotated assignment", "«q: float = 1.0»", "an annotated assignment"),
    ("static raises", "q = wp.static(«1 // 0»)", "ZeroDivisionError"),
    ("static of list", "q = wp.static(«[1]»)", "value of type a list"),
    ("static at run time", "q = wp.static(«n + 1»)", "NameError"),
]
