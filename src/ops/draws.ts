/** @file Random numbers inside a lowering: bits from the counter-based Philox generator, and distributions made of them. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import type { DType } from "../schema/index.js";
import { cast, computeType, fullLike } from "./helpers.js";
import type { LoweringContext } from "./registry.js";

/** Digits of a uniform number: it must stay below 1 in its type. */
const digits = (dtype: DType): number => {
  if (dtype === dt.float64) return 53;
  if (dtype === dt.float16) return 11;
  return dtype === dt.bfloat16 ? 8 : 24;
};

/** The stream of random numbers of one operator call. */
export class Draws {
  private state: Value;
  constructor(
    private readonly h: Builder,
    context: LoweringContext,
  ) {
    this.state = context.rng();
  }

  /** Random bits; `dtype` is uint32 or uint64. */
  bits(dtype: DType, shape: readonly number[]): Value {
    if (shape.includes(0)) return this.h.splat(0, dtype, shape);
    const [state, bits] = this.h.rng_bit_generator(this.state, "PHILOX", dtype, shape);
    this.state = state;
    return bits;
  }

  /** The `count` upper bits of random words as a number below 2^count. */
  private upperBits(shape: readonly number[], count: number, dtype: DType): Value {
    const word = count > 32 ? dt.uint64 : dt.uint32;
    const bits = this.bits(word, shape);
    const shifted = this.h.shift_right_logical(bits, fullLike(this.h, bits, word.bits - count));
    return this.h.convert(shifted, dtype);
  }

  /** Uniform in [0, 1), with as many digits as PyTorch gives `dtype`, in its compute type. */
  uniform(shape: readonly number[], dtype: DType): Value {
    const { h } = this;
    const count = digits(dtype);
    const x = this.upperBits(shape, count, computeType(dtype));
    return h.multiply(x, fullLike(h, x, 2 ** -count));
  }

  /** Uniform in (0, 1), symmetric around a half, in the compute type of `dtype`. */
  open(shape: readonly number[], dtype: DType): Value {
    const { h } = this;
    const wide = computeType(dtype);
    const count = wide === dt.float64 ? 52 : 23;
    const x = this.upperBits(shape, count, wide);
    return h.multiply(h.add(x, fullLike(h, x, 0.5)), fullLike(h, x, 2 ** -count));
  }

  /** Normal with mean 0 and deviation 1, in the compute type of `dtype`. */
  normal(shape: readonly number[], dtype: DType): Value {
    const { h } = this;
    const u = this.open(shape, dtype);
    const centered = h.subtract(h.multiply(u, fullLike(h, u, 2)), fullLike(h, u, 1));
    return h.multiply(h.chlo_erf_inv(centered), fullLike(h, u, Math.SQRT2));
  }

  /** Exponential with mean 1. */
  exponential(shape: readonly number[], dtype: DType): Value {
    return this.h.negate(this.h.log(this.open(shape, dtype)));
  }

  /** Integers in [low, low + range), as int64. */
  integers(shape: readonly number[], low: number, range: number): Value {
    const { h } = this;
    const bits = this.bits(dt.uint64, shape);
    const rest = range >= 2 ** 63 ? bits : h.remainder(bits, h.splat(BigInt(range), dt.uint64, shape));
    const value = h.convert(rest, dt.int64);
    return low === 0 ? value : h.add(value, h.splat(BigInt(low), dt.int64, shape));
  }

  /** True with probability `p`. */
  bernoulli(shape: readonly number[], p: number): Value {
    const u = this.uniform(shape, dt.float32);
    return this.h.compare(u, fullLike(this.h, u, p), "LT");
  }
}

/** Poisson counts for means in float64, by inverting the distribution; large means use a corrected normal. */
export function poissonCounts(h: Builder, draws: Draws, mean: Value): Value {
  const limit = 500;
  const small = h.compare(mean, fullLike(h, mean, limit), "LE");
  const lambda = h.select(small, mean, fullLike(h, mean, 1));
  const u = draws.open(mean.shape, dt.float64);
  const counted = invert(h, u, h.exponential(h.negate(lambda)), (k) => h.divide(lambda, k));
  const z = draws.normal(mean.shape, dt.float64);
  return h.select(small, counted, skewedNormal(h, z, mean, h.sqrt(mean), fullLike(h, mean, 1)));
}

/** Binomial counts of `n` trials with probability `p`, in float64. */
export function binomialCounts(h: Builder, draws: Draws, n: Value, p: Value): Value {
  const one = fullLike(h, p, 1);
  const flipped = h.compare(p, fullLike(h, p, 0.5), "GT");
  const rare = h.select(flipped, h.subtract(one, p), p);
  const mean = h.multiply(n, rare);
  const small = h.compare(mean, fullLike(h, mean, 500), "LE");
  const trials = h.select(small, n, one);
  const odds = h.divide(rare, h.subtract(one, rare));
  const u = draws.open(n.shape, dt.float64);
  const start = h.exponential(h.multiply(trials, h.log_plus_one(h.negate(rare))));
  const counted = invert(h, u, start, (k) => h.multiply(h.divide(h.subtract(h.add(trials, one), k), k), odds));
  const deviation = h.sqrt(h.multiply(mean, h.subtract(one, rare)));
  const skew = h.subtract(one, h.multiply(rare, fullLike(h, rare, 2)));
  const z = draws.normal(n.shape, dt.float64);
  const large = h.minimum(skewedNormal(h, z, mean, deviation, skew), n);
  const successes = h.select(small, h.minimum(counted, trials), large);
  return h.select(flipped, h.subtract(n, successes), successes);
}

/** Mean + deviation · z with the skewness of a count, rounded, not below 0 (Cornish and Fisher 1938). */
function skewedNormal(h: Builder, z: Value, mean: Value, deviation: Value, skew: Value): Value {
  const bend = h.multiply(h.divide(h.subtract(h.multiply(z, z), fullLike(h, z, 1)), fullLike(h, z, 6)), skew);
  const x = h.add(h.add(mean, h.multiply(deviation, z)), bend);
  return h.maximum(h.round_nearest_even(x), fullLike(h, x, 0));
}

/** The smallest count whose distribution function reaches `u`, from P(0) and the ratios P(k) / P(k-1). */
function invert(h: Builder, u: Value, first: Value, ratio: (k: Value) => Value): Value {
  const most = h.constant(2000, dt.int32);
  const [, , , count] = h.while(
    [h.constant(0, dt.int32), first, first, fullLike(h, u, 0)],
    ([step, , reached]) => {
      const open = h.compare(u, reached, "GT");
      const some =
        u.rank === 0
          ? open
          : h.reduceWith(
              open,
              h.constant(false, dt.bool),
              u.shape.map((_, i) => i),
              "or",
            );
      return h.and(some, h.compare(step, most, "LT"));
    },
    ([step, term, reached, k]) => {
      const open = h.compare(u, reached, "GT");
      const next = h.add(cast(h, h.broadcastTo(step, u.shape), u.dtype), fullLike(h, u, 1));
      const nextTerm = h.multiply(term, ratio(next));
      return [
        h.add(step, h.constant(1, dt.int32)),
        nextTerm,
        h.add(reached, nextTerm),
        h.select(open, h.add(k, fullLike(h, k, 1)), k),
      ];
    },
  );
  return count;
}
