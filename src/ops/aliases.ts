/** @file Other names of operators: the same definition under each of PyTorch's names. */
import "./arithmetic.js";
import "./bitwise.js";
import "./combination.js";
import "./comparison.js";
import "./gamma.js";
import "./pointwise.js";
import "./rounding.js";
import "./softmax.js";
import "./special.js";
import "./trigonometry.js";
import type { Tensor } from "../tensor/index.js";
import { op, operators } from "./registry.js";

/** Alias and operator; the schemas are the operator's under the new name. */
const sameSchemas: readonly [alias: string, of: string][] = [
  ["absolute", "abs"],
  ["negative", "neg"],
  ["arcsin", "asin"],
  ["arccos", "acos"],
  ["arctan", "atan"],
  ["arcsinh", "asinh"],
  ["arccosh", "acosh"],
  ["arctanh", "atanh"],
  ["arctan2", "atan2"],
  ["fix", "trunc"],
  ["clip", "clamp"],
  ["divide", "div"],
  ["multiply", "mul"],
  ["subtract", "sub"],
  ["greater", "gt"],
  ["greater_equal", "ge"],
  ["less", "lt"],
  ["less_equal", "le"],
  ["not_equal", "ne"],
  ["special_digamma", "digamma"],
  ["special_erf", "erf"],
  ["special_erfc", "erfc"],
  ["special_erfinv", "erfinv"],
  ["special_exp2", "exp2"],
  ["special_expm1", "expm1"],
  ["special_expit", "sigmoid"],
  ["special_log1p", "log1p"],
  ["special_logit", "logit"],
  ["special_gammaln", "lgamma"],
  ["special_multigammaln", "mvlgamma"],
  ["special_polygamma", "polygamma"],
  ["special_psi", "digamma"],
  ["special_sinc", "sinc"],
];

/** Aliases whose schemas differ from the operator's. */
const ownSchemas: readonly [schemas: readonly [string, ...string[]], of: string][] = [
  [
    [
      "special_xlogy(Tensor self, Tensor other) -> Tensor",
      "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
      "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
    ],
    "xlogy",
  ],
  [["special_round(Tensor self, *, int decimals=0) -> Tensor"], "round"],
  [["special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"], "softmax"],
  [["special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"], "log_softmax"],
];

for (const [alias, of] of sameSchemas) {
  for (const { overloads, definition } of new Set(operators.get(of)!.overloads.map((o) => o.entry))) {
    const [first, ...rest] = overloads.map((o) => o.schema.text.replace(of, alias));
    op([first, ...rest], definition as object);
  }
}
for (const [schemas, of] of ownSchemas) {
  op(schemas, operators.get(of)!.overloads[0].entry.definition as object);
}

type Reflected = "add" | "mul" | "sub" | "div" | "remainder" | "pow" | "bitwise_and" | "bitwise_or" | "bitwise_xor";

/** What Python calls for `2 + x` and its kin, the tensor standing on the right. */
const reflected: readonly [name: string, of: Reflected][] = [
  ["__radd__", "add"],
  ["__rmul__", "mul"],
  ["__rsub__", "sub"],
  ["__rdiv__", "div"],
  ["__rmod__", "remainder"],
  ["__rpow__", "pow"],
  ["__rand__", "bitwise_and"],
  ["__ror__", "bitwise_or"],
  ["__rxor__", "bitwise_xor"],
];
for (const [name, of] of reflected) {
  op(
    [`${name}(Tensor self, Tensor other) -> Tensor`] as unknown as readonly ["x(Tensor self, Tensor other) -> Tensor"],
    {
      composite: (t, { self, other }) => (t[of] as (a: Tensor, b: Tensor) => Tensor)(other, self),
      numbers: ["other"],
      doc: `\`${of}\` with its arguments exchanged.`,
    },
  );
}

op("__rmatmul__(Tensor self, Tensor other) -> Tensor", {
  composite: (t, { self, other }) => t.matmul(other, self),
  doc: "`matmul` with its arguments exchanged.",
});
