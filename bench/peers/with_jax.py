import jax
import numpy as np
from jax import lax
from jax import numpy as jnp


def work(function, *inputs, carried=None):
    """A jitted function's runs; `carried`: the input that its result takes the place of."""
    given = [jnp.asarray(x) for x in inputs]
    jitted = jax.jit(function, donate_argnums=() if carried is None else carried)
    state = {}

    def run():
        state["out"] = jitted(*given)
        if carried is not None:
            given[carried] = state["out"]
        jax.block_until_ready(state["out"])

    return run, lambda: np.asarray(state["out"])


def saxpy(x, y):
    return work(lambda x, y: np.float32(1e-3) * x + y, x, y, carried=1)


def normalise(x):
    return work(lambda x: x / jnp.linalg.norm(x, axis=1, keepdims=True), x)


def copy(x):
    return work(jnp.copy, x)


def transpose(x):
    return work(jnp.transpose, x)


def products(a, b):
    return work(jnp.matmul, a, b)


def transcendental(x):
    return work(lambda x: jnp.sin(x) + jnp.exp(-x) + jnp.power(x, 1.7), x)


def one_address(x):
    return work(lambda x: x.sum().reshape(1), x)


def scan(x):
    return work(jnp.cumsum, x)


def sort(keys, values):
    return work(lambda k, v: jnp.stack(lax.sort((k, v), num_keys=1, is_stable=True)), keys, values)


def scatter(x, at, targets):
    count = int(targets)
    return work(lambda x, at: jnp.zeros(count, x.dtype).at[at].add(x), x, at)


def stencil(u):
    def step(u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return jnp.pad(u[1:-1, 1:-1] + 0.1 * (around - 4.0 * u[1:-1, 1:-1]), 1)

    return work(step, u)
