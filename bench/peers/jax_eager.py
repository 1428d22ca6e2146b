"""The eager benchmark on JAX's CPU backend; the training step is jitted, as JAX programs are."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from measure import repeated, summary

figures = {}
times = []
for i in range(9):
    x = jnp.zeros((7, 11 + i))
    start = time.perf_counter()
    np.asarray(x * x)
    times.append((time.perf_counter() - start) * 1e3)
figures["first_use"] = summary("ms", times)

a, b = jnp.ones((4, 4)), jnp.ones((4, 4))
figures["add"] = repeated("us", 2000, lambda: a + b, np.asarray)
figures["add_read"] = repeated("us", 300, lambda: np.asarray(a + b))


def chain():
    x = a
    for _ in range(10):
        x = x + b
    return np.asarray(x)


figures["chain10_read"] = repeated("us", 100, chain)
m = jnp.asarray(np.random.rand(1024, 1024), jnp.float32)
figures["matmul_1024"] = repeated("ms", 3, lambda: float((m @ m)[0, 0]))

sizes = [256, 512, 512, 10]
rng = np.random.default_rng(0)
params = [(jnp.asarray(rng.normal(size=(i, o)) * 0.05, jnp.float32), jnp.zeros(o)) for i, o in zip(sizes, sizes[1:])]
x, y = jnp.asarray(rng.random((64, 256)), jnp.float32), jnp.zeros(64, jnp.int32)


def loss_of(params):
    h = x
    for k, (w, bias) in enumerate(params):
        h = h @ w + bias
        h = jax.nn.relu(h) if k + 1 < len(params) else h
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), y[:, None], 1))


@jax.jit
def update(params):
    loss, grads = jax.value_and_grad(loss_of)(params)
    return loss, jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)


def step():
    global params
    loss, params = update(params)
    return float(loss)


figures["mlp_step"] = repeated("ms", 20, step)
print(json.dumps(figures))
