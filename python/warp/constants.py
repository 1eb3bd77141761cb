"""Mathematical constants, in both spellings."""

import math

_VALUES = {
    "E": math.e,
    "LOG2E": math.log2(math.e),
    "LOG10E": math.log10(math.e),
    "LN2": math.log(2.0),
    "LN10": math.log(10.0),
    "PHI": (1.0 + math.sqrt(5.0)) / 2.0,
    "PI": math.pi,
    "HALF_PI": math.pi / 2.0,
    "TAU": math.tau,
    "INF": math.inf,
    "NAN": math.nan,
}
CONSTANTS = {**_VALUES, **{name.lower(): value for name, value in _VALUES.items()}}
