"""Pseudorandom numbers: the state is a uint32 that each call advances by one step of PCG-RXS-M-XS (O'Neill 2014)."""

GROUP = "Random"


def _pcg(x: uint32) -> uint32:
    state = x * uint32(747796405) + uint32(2891336453)
    word = ((state >> ((state >> uint32(28)) + uint32(4))) ^ state) * uint32(277803737)
    return (word >> uint32(22)) ^ word


# The upper 24 bits, which float32 holds exactly: in [0, 1).
def _unit(state: uint32) -> float32:
    return float32(state >> uint32(8)) * 5.9604644775390625e-08


def rand_init(seed: int32) -> uint32:
    """The state that a seed (and an offset, such as the item's index) starts with."""
    return _pcg(uint32(seed))


def rand_init(seed: int32, offset: int32) -> uint32:
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


@updates("state")
def randi(state: uint32) -> tuple[int32, uint32]:
    """A random integer, any or in [low, high)."""
    s = _pcg(state)
    return int32(s), s


@updates("state")
def randi(state: uint32, low: int32, high: int32) -> tuple[int32, uint32]:
    s = _pcg(state)
    r = 0
    if low != high:
        r = int32(s % uint32(high - low)) + low
    return r, s


@updates("state")
def randu(state: uint32) -> tuple[uint32, uint32]:
    """A random unsigned integer, any or in [low, high)."""
    s = _pcg(state)
    return s, s


@updates("state")
def randu(state: uint32, low: uint32, high: uint32) -> tuple[uint32, uint32]:
    s = _pcg(state)
    r = uint32(0)
    if low != high:
        r = s % (high - low) + low
    return r, s


@updates("state")
def randf(state: uint32) -> tuple[float32, uint32]:
    """A random number in [0, 1) or [low, high)."""
    s = _pcg(state)
    return _unit(s), s


@updates("state")
def randf(state: uint32, low: float32, high: float32) -> tuple[float32, uint32]:
    s = _pcg(state)
    return (high - low) * _unit(s) + low, s


@updates("state")
def randn(state: uint32) -> tuple[float32, uint32]:
    """A random number of the standard normal distribution (Box and Muller 1958)."""
    s = _pcg(state)
    t = _pcg(s)
    # The logarithm of 0 is kept out.
    u = max(_unit(s), 5.9604644775390625e-08)
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * _unit(t)), t
