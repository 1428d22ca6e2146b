/** @file nn.functional: attention. */
import { TorchError } from "../../schema/index.js";
import type { DType } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { aten, t } from "../aten.js";
import { define } from "../signature.js";
import { linear } from "./convolution.js";
import { dropout } from "./dropout.js";
import { pad } from "./vision.js";

/** softmax(query · keyᵀ · scale + mask) · value. Masks of bool keep what is true; others are added. */
export const scaled_dot_product_attention = aten("scaled_dot_product_attention");

const sizeOf = (shape: readonly number[]): string => `torch.Size([${shape.join(", ")}])`;
const tupleOf = (shape: readonly number[]): string => `(${shape.join(", ")})`;

function check(condition: boolean, message: () => string): void {
  if (!condition) throw new TorchError(message());
}

interface Inputs {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly key_padding_mask: Tensor | null;
  readonly attn_mask: Tensor | null;
}

/** Whether the inputs have a batch dimension. Throws when their ranks do not fit. */
function isBatched({ query, key, value, key_padding_mask, attn_mask }: Inputs, heads: number): boolean {
  check(
    query.ndim === 2 || query.ndim === 3,
    () => `query should be unbatched 2D or batched 3D tensor but received ${query.ndim}-D query tensor`,
  );
  const batched = query.ndim === 3;
  const what = batched ? "batched (3-D)" : "unbatched (2-D)";
  const rank = query.ndim;
  check(
    key.ndim === rank && value.ndim === rank,
    () =>
      `For ${what} \`query\`, expected \`key\` and \`value\` to be ${rank}-D but found ${key.ndim}-D and ${value.ndim}-D tensors respectively`,
  );
  if (key_padding_mask !== null)
    check(
      key_padding_mask.ndim === rank - 1,
      () =>
        `For ${what} \`query\`, expected \`key_padding_mask\` to be \`None\` or ${rank - 1}-D but found ${key_padding_mask.ndim}-D tensor instead`,
    );
  if (attn_mask === null) return batched;
  check(
    attn_mask.ndim === 2 || attn_mask.ndim === 3,
    () =>
      `For ${what} \`query\`, expected \`attn_mask\` to be \`None\`, 2-D or 3-D but found ${attn_mask.ndim}-D tensor instead`,
  );
  const expected = [heads, query.shape[0], key.shape[0]];
  if (!batched && attn_mask.ndim === 3)
    check(
      attn_mask.shape.join() === expected.join(),
      () => `Expected \`attn_mask\` shape to be ${tupleOf(expected)} but got ${sizeOf(attn_mask.shape)}`,
    );
  return batched;
}

/** A mask to add: -inf where a mask of bool is true. */
export function additiveMask(mask: Tensor | null, name: string, dtype: DType): Tensor | null {
  if (mask === null || mask.is_floating_point()) return mask;
  check(mask.dtype.name === "bool", () => `only bool and floating types of ${name} are supported`);
  return t.masked_fill(t.zeros_like(mask, { dtype }), mask, -Infinity);
}

/** Query, key and value through the thirds of one weight. */
function projectPacked(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | null): Tensor[] {
  if (query === key && key === value) return linear(query, weight, bias).chunk(3, -1);
  const weights = weight.chunk(3);
  const biases = bias?.chunk(3) ?? [null, null, null];
  return [query, key, value].map((x, i) => linear(x, weights[i], biases[i]));
}

const signatureText =
  "multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False)";

/**
 * Attention of several heads with its projections; inputs are (L, N, E) or (L, E). Gives the output and, with
 * need_weights, the attention weights. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
 */
export const multi_head_attention_forward = define(signatureText, (a): [Tensor, Tensor | null] => {
  const batched = isBatched(a, a.num_heads);
  const add = (x: Tensor): Tensor => (batched ? x : x.unsqueeze(1));
  const [query, key, value] =
    a.query === a.key && a.key === a.value
      ? new Array<Tensor>(3).fill(add(a.query))
      : [add(a.query), add(a.key), add(a.value)];
  const [target, batch, embed] = query.shape;
  const heads = a.num_heads;
  const headDim = Math.floor(embed / heads);
  check(
    embed === a.embed_dim_to_check,
    () => `was expecting embedding dimension of ${a.embed_dim_to_check}, but got ${embed}`,
  );
  check(headDim * heads === embed, () => `embed_dim ${embed} not divisible by num_heads ${heads}`);
  if (a.is_causal && a.attn_mask === null)
    throw new TorchError(
      "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method `generate_square_subsequent_mask` to create this mask.",
    );
  const padding = batched ? a.key_padding_mask : (a.key_padding_mask?.unsqueeze(0) ?? null);
  let keyMask = additiveMask(padding, "key_padding_mask", query.dtype);
  const causalOnly = a.is_causal && keyMask === null && !a.need_weights;
  let mask = causalOnly ? null : additiveMask(a.attn_mask, "attn_mask", query.dtype);
  mask = checkedMask(mask, [target, key.shape[0]], batch * heads);

  let [q, k, v] = a.use_separate_proj_weight
    ? projectSeparate(a, query, key, value)
    : projectSame(a, query, key, value);
  const extend = (): void => {
    if (mask !== null) mask = pad(mask, [0, 1]);
    if (keyMask !== null) keyMask = pad(keyMask, [0, 1]);
  };
  if (a.bias_k !== null && a.bias_v !== null) {
    check(a.static_k === null, () => "bias cannot be added to static key.");
    check(a.static_v === null, () => "bias cannot be added to static value.");
    k = t.cat([k, t.repeat(a.bias_k, [1, batch, 1])]);
    v = t.cat([v, t.repeat(a.bias_v, [1, batch, 1])]);
    extend();
  } else {
    check(a.bias_k === null, () => "bias_k is set but bias_v is None");
    check(a.bias_v === null, () => "bias_v is set but bias_k is None");
  }
  const split = (x: Tensor): Tensor => x.reshape(x.shape[0], batch * heads, headDim).transpose(0, 1);
  q = split(q);
  k = a.static_k === null ? split(k) : checkedStatic(a.static_k, "static_k", batch * heads, headDim);
  v = a.static_v === null ? split(v) : checkedStatic(a.static_v, "static_v", batch * heads, headDim);
  if (a.add_zero_attn) {
    const zero = t.zeros([batch * heads, 1, headDim], { dtype: k.dtype, device: k.device });
    k = t.cat([k, zero], 1);
    v = t.cat([v, zero], 1);
    extend();
  }
  const source = k.shape[1];
  if (keyMask !== null) mask = withKeyMask(mask, keyMask, batch, heads, source);
  const dropoutP = a.training ? a.dropout_p : 0;
  const project = (x: Tensor): Tensor => {
    const out = linear(x, a.out_proj_weight, a.out_proj_bias);
    const shaped = out.view(target, batch, out.shape[1]);
    return batched ? shaped : shaped.squeeze(1);
  };
  if (!a.need_weights) {
    const shape = (x: Tensor): Tensor => x.reshape(batch, heads, x.shape[1], headDim);
    const m =
      mask === null
        ? null
        : mask.shape[0] === 1 && mask.ndim === 3
          ? mask.unsqueeze(0)
          : mask.view(batch, heads, -1, source);
    const out = scaled_dot_product_attention(shape(q), shape(k), shape(v), m, dropoutP, causalOnly);
    return [project(out.permute(2, 0, 1, 3).reshape(target * batch, embed)), null];
  }
  const scaled = q.mul(Math.sqrt(1 / headDim));
  const scores = mask === null ? t.bmm(scaled, k.transpose(-2, -1)) : t.baddbmm(mask, scaled, k.transpose(-2, -1));
  let weights = t.softmax(scores, -1);
  if (dropoutP > 0) weights = dropout(weights, dropoutP);
  const out = project(
    t
      .bmm(weights, v)
      .transpose(0, 1)
      .reshape(target * batch, embed),
  );
  weights = weights.view(batch, heads, target, source);
  if (a.average_attn_weights) weights = weights.mean(1);
  return [out, batched ? weights : weights.squeeze(0)];
});

function checkedMask(mask: Tensor | null, size: readonly number[], rows: number): Tensor | null {
  if (mask === null) return null;
  const expected = mask.ndim === 2 ? size : [rows, ...size];
  check(
    mask.shape.join() === expected.join(),
    () => `The shape of the ${mask.ndim}D attn_mask is ${sizeOf(mask.shape)}, but should be ${tupleOf(expected)}.`,
  );
  return mask.ndim === 2 ? mask.unsqueeze(0) : mask;
}

function checkedStatic(x: Tensor, name: string, rows: number, headDim: number): Tensor {
  check(x.shape[0] === rows, () => `expecting ${name}.size(0) of ${rows}, but got ${x.shape[0]}`);
  check(x.shape[2] === headDim, () => `expecting ${name}.size(2) of ${headDim}, but got ${x.shape[2]}`);
  return x;
}

function withKeyMask(mask: Tensor | null, keyMask: Tensor, batch: number, heads: number, source: number): Tensor {
  check(
    keyMask.shape[0] === batch,
    () => `Expected key_padded_mask.shape[0] to be ${batch}, but got ${keyMask.shape[0]}`,
  );
  check(
    keyMask.shape[1] === source,
    () => `Expected key_padded_mask.shape[1] to be ${source}, but got ${keyMask.shape[1]}`,
  );
  const wide = keyMask
    .view(batch, 1, 1, source)
    .expand(-1, heads, -1, -1)
    .reshape(batch * heads, 1, source);
  return mask === null ? wide : mask.add(wide);
}

interface Projections {
  readonly in_proj_weight: Tensor | null;
  readonly in_proj_bias: Tensor | null;
  readonly q_proj_weight: Tensor | null;
  readonly k_proj_weight: Tensor | null;
  readonly v_proj_weight: Tensor | null;
}

function projectSame(
  { in_proj_weight, in_proj_bias }: Projections,
  query: Tensor,
  key: Tensor,
  value: Tensor,
): Tensor[] {
  check(
    key.shape.join() === value.shape.join(),
    () => `key shape ${sizeOf(key.shape)} does not match value shape ${sizeOf(value.shape)}`,
  );
  check(in_proj_weight !== null, () => "use_separate_proj_weight is False but in_proj_weight is None");
  return projectPacked(query, key, value, in_proj_weight!, in_proj_bias);
}

function projectSeparate(p: Projections, query: Tensor, key: Tensor, value: Tensor): Tensor[] {
  check(
    key.shape.slice(0, 2).join() === value.shape.slice(0, 2).join(),
    () =>
      `key's sequence and batch dims ${sizeOf(key.shape.slice(0, 2))} do not match value's ${sizeOf(value.shape.slice(0, 2))}`,
  );
  const biases = p.in_proj_bias?.chunk(3) ?? [null, null, null];
  const names = ["q_proj_weight", "k_proj_weight", "v_proj_weight"] as const;
  return [query, key, value].map((x, i) => {
    const weight = p[names[i]];
    check(weight !== null, () => `use_separate_proj_weight is True but ${names[i]} is None`);
    return linear(x, weight!, biases[i]);
  });
}
