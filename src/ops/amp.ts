/** @file What a gradient scaler does to gradients and to its own scale, each as one program for all of them. */
import type { Builder, Value } from "../hlo/index.js";
import { float32, int32 } from "../schema/index.js";
import { cast, inComputeType } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";

/** 1 where any element of any tensor is infinite or NaN, else 0. */
function anyNonFinite(h: Builder, xs: readonly Value[]): Value {
  const counts = xs.map((x) => {
    const bad = h.not(h.is_finite(x));
    const dims = x.shape.map((_, i) => i);
    return h.reduce([cast(h, bad, float32)], [h.constant(0, float32)], dims, ([p], [q]) => [h.maximum(p, q)])[0];
  });
  return counts.reduce((a, b) => h.maximum(a, b));
}

op("_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()", {
  lower: (h, { self, found_inf, inv_scale }) => {
    const scale = h.reshape(inv_scale, []);
    const unscaled = self.map((g) =>
      inComputeType(h, [g], (x) => h.multiply(x, h.broadcastTo(cast(h, scale, x.dtype), x.shape))),
    );
    const found = h.reshape(cast(h, anyNonFinite(h, self), found_inf.dtype), found_inf.shape);
    return [...unscaled, h.maximum(found_inf, found)];
  },
  mutates: ["self", "found_inf"],
  grad: notDifferentiable,
  doc: "Multiplies gradients by 1 / scale, and sets found_inf where one was infinite or NaN.",
});

// PyTorch's schema says float, and returns self; here a new factor compiles nothing and one program writes both tensors
op(
  "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, Scalar scale_growth_factor, Scalar scale_backoff_factor, int growth_interval) -> ()",
  {
    lower: (h, { self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval }) => {
      const [growth, backoff] = [scale_growth_factor, scale_backoff_factor].map((f) => f.fill(self.dtype, self.shape));
      const found = h.reshape(found_inf, []);
      const skipped = h.compare(found, h.constant(0, found.dtype), "NE");
      const next = h.add(growth_tracker, h.splat(1, growth_tracker.dtype, growth_tracker.shape));
      const due = h.compare(h.reshape(cast(h, next, int32), []), h.constant(growth_interval, int32), "EQ");
      const grown = h.multiply(self, growth);
      const kept = h.select(h.and(due, h.reshape(h.is_finite(grown), [])), grown, self);
      const zero = h.splat(0, growth_tracker.dtype, growth_tracker.shape);
      return [h.select(skipped, h.multiply(self, backoff), kept), h.select(h.or(skipped, due), zero, next)];
    },
    mutates: ["self", "growth_tracker"],
    grad: notDifferentiable,
    doc: "The next scale of a gradient scaler.",
  },
);
