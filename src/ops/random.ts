/** @file Random tensors, and tensors overwritten with random numbers. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { broadcastShapes, get_default_dtype, TorchError, type DType } from "../schema/index.js";
import { checkSize } from "./creation.js";
import { Draws } from "./draws.js";
import { cast, computeType, fullLike, requireDtype, scalarTypeName } from "./helpers.js";
import { notDifferentiable, op, type LoweringContext } from "./registry.js";

const tail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
const likeTail = `${tail}, MemoryFormat? memory_format=None` as const;

type Sample = (draws: Draws, shape: readonly number[], dtype: DType) => Value;

/** A sample of a real or complex type; the parts of complex numbers are drawn one after the other. */
function sample(h: Builder, context: LoweringContext, shape: readonly number[], dtype: DType, draw: Sample): Value {
  const draws = new Draws(h, context);
  const real = dtype.to_real();
  const part = (): Value => cast(h, draw(draws, shape, real), real);
  return dtype.is_complex ? h.complex(part(), part()) : part();
}

const uniformSample: Sample = (draws, shape, dtype) => draws.uniform(shape, dtype);

for (const name of ["rand", "randn"] as const) {
  const doc = name === "rand" ? "Uniform in [0, 1)" : "Normal with mean 0 and deviation 1";
  const draw = (h: Builder, context: LoweringContext, size: readonly number[], dtype: DType): Value => {
    requireDtype(
      { dtype } as Value,
      dtype.is_differentiable,
      name === "rand" ? "check_uniform_bounds" : "normal_kernel_cpu",
    );
    if (name === "rand") return sample(h, context, size, dtype, uniformSample);
    // The two parts of a complex number have half the variance each.
    return sample(h, context, size, dtype, (draws, shape, real) => {
      const z = draws.normal(shape, real);
      return dtype.is_complex ? h.multiply(z, fullLike(h, z, Math.SQRT1_2)) : z;
    });
  };
  op(
    [
      `${name}.generator(SymInt[] size, *, Generator? generator, ${tail}) -> Tensor` as "x(SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
      `${name}(SymInt[] size, *, ${tail}) -> Tensor`,
    ],
    {
      lower: (h, { size, dtype }, context) => {
        checkSize(name, size);
        return draw(h, context, size, dtype ?? get_default_dtype());
      },
      grad: notDifferentiable,
      factory: true,
      random: true,
      doc: `${doc}.`,
    },
  );
  op(
    [
      `${name}_like.generator(Tensor self, *, Generator? generator, ${likeTail}) -> Tensor` as "x(Tensor self, *, ScalarType? dtype=None) -> Tensor",
      `${name}_like(Tensor self, *, ${likeTail}) -> Tensor`,
    ],
    {
      lower: (h, { self, dtype }, context) => draw(h, context, self.shape, dtype ?? self.dtype),
      grad: notDifferentiable,
      factory: true,
      random: true,
      doc: `${doc}, with the shape and type of another tensor.`,
    },
  );
}

/** Integers in [low, high) of a type. */
function integers(
  h: Builder,
  context: LoweringContext,
  shape: readonly number[],
  low: number,
  high: number,
  dtype: DType,
): Value {
  if (low >= high)
    throw new TorchError(`random_ expects 'from' to be less than 'to', but got from=${low} >= to=${high}`);
  requireDtype({ dtype } as Value, !dtype.is_complex, "check_random_bounds");
  return cast(h, new Draws(h, context).integers(shape, low, high - low), dtype);
}

op(
  [
    `randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ${tail}) -> Tensor` as "x(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
    `randint.low(SymInt low, SymInt high, SymInt[] size, *, ${tail}) -> Tensor`,
  ],
  {
    lower: (h, { low, high, size, dtype }, context) => {
      checkSize("randint", size);
      return integers(h, context, size, low, high, dtype ?? dt.int64);
    },
    grad: notDifferentiable,
    factory: true,
    random: true,
    doc: "Integers from `low` (default 0) up to, not including, `high`.",
  },
);
op(
  [
    `randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ${tail}) -> Tensor` as "x(SymInt high, SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
    `randint(SymInt high, SymInt[] size, *, ${tail}) -> Tensor`,
  ],
  {
    lower: (h, { high, size, dtype }, context) => {
      checkSize("randint", size);
      return integers(h, context, size, 0, high, dtype ?? dt.int64);
    },
    grad: notDifferentiable,
    factory: true,
    random: true,
  },
);
op(
  [
    `randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ${likeTail}) -> Tensor` as "x(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None) -> Tensor",
    `randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ${likeTail}) -> Tensor`,
  ],
  {
    lower: (h, { self, low, high, dtype }, context) => integers(h, context, self.shape, low, high, dtype ?? self.dtype),
    grad: notDifferentiable,
    factory: true,
    random: true,
    doc: "Integers from `low` up to, not including, `high`, with the shape and type of another tensor.",
  },
);
op(
  [
    `randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ${likeTail}) -> Tensor` as "x(Tensor self, SymInt high, *, ScalarType? dtype=None) -> Tensor",
    `randint_like(Tensor self, SymInt high, *, ${likeTail}) -> Tensor`,
  ],
  {
    lower: (h, { self, high, dtype }, context) => integers(h, context, self.shape, 0, high, dtype ?? self.dtype),
    grad: notDifferentiable,
    factory: true,
    random: true,
  },
);

op(
  [
    `randperm.generator(SymInt n, *, Generator? generator, ${tail}) -> Tensor` as "x(SymInt n, *, ScalarType? dtype=None) -> Tensor",
    `randperm(SymInt n, *, ${tail}) -> Tensor`,
  ],
  {
    lower: (h, { n, dtype }, context) => {
      if (n < 0) throw new TorchError(`n must be non-negative, got ${n}`);
      const keys = new Draws(h, context).bits(dt.uint64, [n]);
      const positions = h.iota(dt.int64, [n], 0);
      const [, order] = h.sort([keys, positions], 0, true, (a, b) => h.compare(a, b, "LT"));
      return cast(h, order, dtype ?? dt.int64);
    },
    grad: notDifferentiable,
    factory: true,
    random: true,
    doc: "The integers below `n` in random order.",
  },
);

type NormalSchema = "x(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor";
op(
  [
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor" as NormalSchema,
    "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
  ],
  {
    lower: (h, { mean, std }, context) => {
      const given = [mean, std] as (Value | number)[];
      const tensors = given.filter((x): x is Value => typeof x !== "number");
      if (typeof std !== "number" && std.dtype.is_complex)
        throw new TorchError("normal expects standard deviation to be non-complex");
      if (typeof std === "number") checkDeviation(std);
      const { dtype } = tensors[0];
      requireDtype(tensors[0], dtype.is_differentiable, "normal_kernel_cpu");
      const shape = broadcastShapes(...tensors.map((x) => x.shape));
      const wide = computeType(dtype);
      const full = (x: Value | number): Value =>
        typeof x === "number" ? h.splat(x, wide, shape) : h.broadcastTo(cast(h, x, wide), shape);
      const z = cast(h, new Draws(h, context).normal(shape, wide.to_real()), wide);
      return cast(h, h.add(full(mean), h.multiply(full(std), z)), dtype);
    },
    grad: (t, { mean, std }, dy) => ({
      mean: typeof mean === "number" ? null : t.zeros_like(dy),
      std: typeof std === "number" ? null : t.zeros_like(dy),
    }),
    random: true,
    doc: "Normal with a mean and a deviation for each element.",
  },
);
op(`normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ${tail}) -> Tensor`, {
  lower: (h, { mean, std, size, dtype }, context) => {
    checkSize("normal", size);
    return normalValue(h, context, size, dtype ?? get_default_dtype(), mean, std);
  },
  grad: notDifferentiable,
  factory: true,
  random: true,
});

function checkDeviation(std: number): void {
  if (!(std >= 0)) throw new TorchError(`normal expects std >= 0.0, but found std ${std}`);
}

function normalValue(
  h: Builder,
  context: LoweringContext,
  shape: readonly number[],
  dtype: DType,
  mean: number,
  std: number,
): Value {
  checkDeviation(std);
  requireDtype({ dtype } as Value, dtype.is_differentiable, "normal_kernel_cpu");
  const part = dtype.is_complex ? std * Math.SQRT1_2 : std;
  const value = sample(h, context, shape, dtype, (draws, size, real) => {
    const z = draws.normal(size, real);
    return h.multiply(z, fullLike(h, z, part));
  });
  return h.add(value, fullLike(h, value, mean));
}

type Fill = (h: Builder, self: Value, args: Record<string, number>, context: LoweringContext) => Value;

/** `x.normal_()` and its functional form `normal_functional(x)`: new values that depend on the shape and type only. */
function filler(name: string, functional: string, parameters: string, doc: string, fill: Fill): void {
  const rest = `${parameters}, *, Generator? generator=None`;
  type Schema = "x(Tensor self, *, Generator? generator=None) -> Tensor";
  for (const schema of [
    `${name}_(Tensor(a!) self, ${rest}) -> Tensor(a!)`,
    `${functional}(Tensor self, ${rest}) -> Tensor`,
  ]) {
    op(schema as Schema, {
      lower: (h, args, context) => fill(h, args.self, args as unknown as Record<string, number>, context),
      grad: (t, { self }) => ({ self: t.zeros_like(self) }),
      random: true,
      doc,
    });
  }
}

const onlyFloats = (what: string, x: Value): void => {
  if (!x.dtype.is_floating_point)
    throw new TorchError(
      `${what} distribution is a continuous probability distribution. dtype must be a floating point but you specified ${scalarTypeName(x.dtype)}`,
    );
};

filler(
  "normal",
  "normal_functional",
  "float mean=0., float std=1.",
  "Writes normal random numbers.",
  (h, self, { mean, std }, context) => normalValue(h, context, self.shape, self.dtype, mean, std),
);
filler(
  "uniform",
  "uniform",
  "float from=0., float to=1.",
  "Writes uniform random numbers in [from, to).",
  (h, self, { from, to }, context) => {
    requireDtype(self, self.dtype.is_differentiable, "check_uniform_bounds");
    if (from > to)
      throw new TorchError(`uniform_ expects to return a [from, to) range, but found from=${from} > to=${to}`);
    return sample(h, context, self.shape, self.dtype, (draws, shape, real) => {
      const u = draws.uniform(shape, real);
      return h.add(h.multiply(u, fullLike(h, u, to - from)), fullLike(h, u, from));
    });
  },
);
filler(
  "exponential",
  "exponential",
  "float lambd=1.",
  "Writes exponential random numbers with mean 1 / lambd.",
  (h, self, { lambd }, context) => {
    onlyFloats("Exponential", self);
    if (!(lambd > 0)) throw new TorchError(`exponential_ expects lambda > 0.0, but found lambda=${lambd}`);
    return sample(h, context, self.shape, self.dtype, (draws, shape, real) => {
      const e = draws.exponential(shape, real);
      return h.divide(e, fullLike(h, e, lambd));
    });
  },
);
filler(
  "geometric",
  "geometric",
  "float p",
  "Writes how many trials with probability p the first success takes.",
  (h, self, { p }, context) => {
    if (!(p > 0 && p < 1)) throw new TorchError(`geometric_ expects p to be in (0, 1), but got p=${p}`);
    const wide = self.dtype.is_floating_point ? self.dtype : dt.float64;
    const u = new Draws(h, context).open(self.shape, wide);
    const trials = h.ceil(h.divide(h.log(u), fullLike(h, u, Math.log1p(-p))));
    return cast(h, h.maximum(trials, fullLike(h, u, 1)), self.dtype);
  },
);
filler(
  "cauchy",
  "cauchy",
  "float median=0., float sigma=1.",
  "Writes Cauchy random numbers.",
  (h, self, { median, sigma }, context) => {
    onlyFloats("Cauchy", self);
    if (!(sigma > 0)) throw new TorchError(`cauchy_ expects sigma > 0.0, but found sigma=${sigma}`);
    return sample(h, context, self.shape, self.dtype, (draws, shape, real) => {
      const u = draws.open(shape, real);
      const angle = h.multiply(h.subtract(u, fullLike(h, u, 0.5)), fullLike(h, u, Math.PI));
      return h.add(h.multiply(h.tan(angle), fullLike(h, u, sigma)), fullLike(h, u, median));
    });
  },
);
filler(
  "log_normal",
  "log_normal",
  "float mean=1., float std=2.",
  "Writes numbers whose logarithm is normal.",
  (h, self, { mean, std }, context) => {
    onlyFloats("LogNormal", self);
    if (!(std > 0)) throw new TorchError(`log_normal_ expects std > 0.0, but found std=${std}`);
    return sample(h, context, self.shape, self.dtype, (draws, shape, real) => {
      const z = draws.normal(shape, real);
      return h.exponential(h.add(h.multiply(z, fullLike(h, z, std)), fullLike(h, z, mean)));
    });
  },
);

/** How many integers from 0 `random_` draws from: all that the type counts exactly. */
function randomRange(dtype: DType): number {
  if (dtype === dt.bool) return 2;
  if (dtype.is_floating_point)
    return 2 ** (dtype === dt.float64 ? 53 : dtype === dt.float32 ? 24 : dtype === dt.float16 ? 11 : 8) + 1;
  return 2 ** (dtype.kind === "uint" ? dtype.bits : dtype.bits - 1);
}

for (const inplace of [true, false]) {
  const [name, self, out] = inplace
    ? ["random_", "Tensor(a!) self", "Tensor(a!)"]
    : ["random", "Tensor self", "Tensor"];
  const common = { random: true, doc: "Writes random integers." } as const;
  op(`${name}.to(${self}, int to, *, Generator? generator=None) -> ${out}` as "x(Tensor self, int to) -> Tensor", {
    lower: (h, { self: x, to }, context) => integers(h, context, x.shape, 0, to, x.dtype),
    grad: (t, { self: x }) => ({ self: t.zeros_like(x) }),
    ...common,
  });
  op(`${name}(${self}, *, Generator? generator=None) -> ${out}` as "x(Tensor self) -> Tensor", {
    lower: (h, { self: x }, context) => integers(h, context, x.shape, 0, randomRange(x.dtype), x.dtype),
    grad: (t, { self: x }) => ({ self: t.zeros_like(x) }),
    ...common,
  });
  op(
    `${name}.from(${self}, int from, int? to, *, Generator? generator=None) -> ${out}` as "x(Tensor self, int from, int? to) -> Tensor",
    {
      lower: (h, { self: x, from, to }, context) =>
        integers(h, context, x.shape, from, to ?? randomRange(x.dtype), x.dtype),
      grad: (t, { self: x }) => ({ self: t.zeros_like(x) }),
      ...common,
    },
  );
}

function checkProbability(p: number): void {
  if (!(p >= 0 && p <= 1)) throw new TorchError(`bernoulli_ expects p to be in [0, 1], but got p=${p}`);
}

/** 1 with the probability that `p` says, 0 otherwise, of `dtype`. */
function bernoulli(h: Builder, context: LoweringContext, p: Value, shape: readonly number[], dtype: DType): Value {
  const wide = p.dtype === dt.float64 ? dt.float64 : dt.float32;
  const u = new Draws(h, context).uniform(shape, wide);
  return cast(h, h.compare(u, h.broadcastTo(cast(h, p, wide), shape), "LT"), dtype);
}

op("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", {
  lower: (h, { self }, context) => {
    requireDtype(self, self.dtype.is_floating_point, "bernoulli_tensor_cpu_p_");
    return bernoulli(h, context, self, self.shape, self.dtype);
  },
  grad: (t, { self }) => ({ self: t.zeros_like(self) }),
  random: true,
  doc: "1 with the probability that each element says, otherwise 0.",
});
for (const inplace of [true, false]) {
  const [name, self, out] = inplace
    ? ["bernoulli_", "Tensor(a!) self", "Tensor(a!)"]
    : ["bernoulli", "Tensor self", "Tensor"];
  op(
    `${name}.Tensor(${self}, Tensor p, *, Generator? generator=None) -> ${out}` as "x(Tensor self, Tensor p) -> Tensor",
    {
      lower: (h, { self: x, p }, context) => {
        if (!p.dtype.is_floating_point)
          throw new TorchError(`expected probabilities tensor to have floating type, got ${scalarTypeName(p.dtype)}`);
        return bernoulli(h, context, p, x.shape, x.dtype);
      },
      grad: (t, { self: x, p }) => ({ self: t.zeros_like(x), p: t.zeros_like(p) }),
      random: true,
    },
  );
  op(
    `${name}.${inplace ? "float" : "p"}(${self}, float p${inplace ? "=0.5" : ""}, *, Generator? generator=None) -> ${out}` as "x(Tensor self, float p) -> Tensor",
    {
      lower: (h, { self: x, p }, context) => {
        checkProbability(p);
        return cast(h, new Draws(h, context).bernoulli(x.shape, p), x.dtype);
      },
      grad: (t, { self: x }) => ({ self: t.zeros_like(x) }),
      random: true,
    },
  );
}
