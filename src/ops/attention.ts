/** @file Scaled dot product attention. */
import { bool, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { computeType } from "./helpers.js";
import { op, type Torch } from "./registry.js";

interface Attention {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly mask: Tensor | null;
  readonly causal: boolean;
  readonly dropout: number;
  readonly scale: number | null;
}

function check({ query, key, value, mask, causal }: Attention): void {
  if (query.dtype !== key.dtype || query.dtype !== value.dtype)
    throw new TorchError(
      `Expected query, key, and value to have the same dtype, but got query.dtype: ${query.dtype.name} key.dtype: ${key.dtype.name} and value.dtype: ${value.dtype.name} instead.`,
    );
  if (query.ndim < 2 || key.ndim < 2 || value.ndim < 2)
    throw new TorchError(
      `Expected query, key, and value to all be  at least 2 dimensional, but got query.dim(): ${query.ndim}, key.dim(): ${key.ndim} and value.dim(): ${value.ndim} instead.`,
    );
  if (mask && mask.dtype !== bool && mask.dtype !== query.dtype && mask.dtype.name !== "float32")
    throw new TorchError(
      `Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ${mask.dtype.name} and  query.dtype: ${query.dtype.name} instead.`,
    );
  if (mask && causal)
    throw new TorchError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
}

/** Scores are computed for this many elements of a head's [queries, keys] at once; longer heads are cut into blocks of queries. */
const blockElements = 2 ** 21;

/** Key and value heads repeated so that each query head has its own. */
function grouped(t: Torch, x: Tensor, heads: number): Tensor {
  const have = x.shape[x.ndim - 3];
  if (have === heads) return x;
  if (heads % have !== 0)
    throw new TorchError("Number of heads in key and value must divide the number of heads in query");
  return t.repeat_interleave(x, heads / have, x.ndim - 3);
}

/** The attention of the queries from `first` on. Causal queries read only the keys before them. */
function attend(t: Torch, a: Attention, query: Tensor, first: number): Tensor {
  const { dropout, causal, mask } = a;
  const rows = query.shape[query.ndim - 2];
  const allKeys = a.key.shape[a.key.ndim - 2];
  const count = causal ? Math.min(allKeys, first + rows) : allKeys;
  const cut = (x: Tensor): Tensor => (count === allKeys ? x : t.slice(x, -2, 0, count, 1));
  const [key, value] = [cut(a.key), cut(a.value)];
  const type = computeType(query.dtype);
  const scale = a.scale ?? 1 / Math.sqrt(query.shape[query.ndim - 1]);
  const wide = (x: Tensor): Tensor => (x.dtype === type ? x : t._to_copy(x, { dtype: type }));
  let scores = t.mul(t.matmul(wide(query), t.transpose(wide(key), -2, -1)), scale);
  if (causal) {
    const visible = t.tril(t.ones([rows, count], { dtype: bool, device: query.device }), first);
    scores = t.masked_fill(scores, t.logical_not(visible), -Infinity);
  }
  if (mask) {
    const part =
      mask.ndim >= 2 && mask.shape[mask.ndim - 2] !== 1 && rows !== mask.shape[mask.ndim - 2]
        ? t.slice(mask, -2, first, first + rows, 1)
        : mask;
    scores = part.dtype === bool ? t.masked_fill(scores, t.logical_not(part), -Infinity) : t.add(scores, wide(part));
  }
  let weights = t._safe_softmax(scores, -1);
  if (dropout > 0) weights = t.dropout(weights, dropout, true);
  const out = t.matmul(weights, wide(value));
  return out.dtype === query.dtype ? out : t._to_copy(out, { dtype: query.dtype });
}

/** Attention, in blocks of queries where the scores of all of them would be large. */
function attention(t: Torch, a: Attention): Tensor {
  check(a);
  const { query, key } = a;
  const rows = query.shape[query.ndim - 2];
  const columns = key.shape[key.ndim - 2];
  if (rows * columns <= blockElements) return attend(t, a, query, 0);
  const size = Math.max(128, Math.ceil(rows / 16), Math.floor(blockElements / columns));
  const blocks: Tensor[] = [];
  for (let first = 0; first < rows; first += size)
    blocks.push(attend(t, a, t.slice(query, -2, first, Math.min(rows, first + size), 1), first));
  return t.cat(blocks, -2);
}

op(
  "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
  {
    decompose: (t, { query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa }) => {
      const a: Attention = { query, key, value, mask: attn_mask, causal: is_causal, dropout: dropout_p, scale };
      if (!enable_gqa || query.ndim < 3) return attention(t, a);
      const heads = query.shape[query.ndim - 3];
      return attention(t, { ...a, key: grouped(t, key, heads), value: grouped(t, value, heads) });
    },
    doc: "softmax(query · keyᵀ · scale + mask) · value.",
  },
);

op(
  "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
  {
    decompose: (t, { query, key, value, dropout_p, is_causal, attn_mask, scale }) => {
      const a: Attention = { query, key, value, mask: attn_mask, causal: is_causal, dropout: dropout_p, scale };
      check(a);
      const type = computeType(query.dtype);
      const wide = (x: Tensor): Tensor => (x.dtype === type ? x : t._to_copy(x, { dtype: type }));
      const factor = scale ?? 1 / Math.sqrt(query.shape[query.ndim - 1]);
      let scores = t.mul(t.matmul(wide(query), t.transpose(wide(key), -2, -1)), factor);
      if (is_causal) {
        const visible = t.tril(t.ones(scores.shape.slice(-2), { dtype: bool, device: query.device }));
        scores = t.masked_fill(scores, t.logical_not(visible), -Infinity);
      }
      if (attn_mask)
        scores =
          attn_mask.dtype === bool
            ? t.masked_fill(scores, t.logical_not(attn_mask), -Infinity)
            : t.add(scores, wide(attn_mask));
      return [attention(t, a), t.logsumexp(scores, [-1])];
    },
    nonDifferentiableOutputs: [1],
    doc: "Attention with the logarithm of each query's sum of exponentials.",
  },
);
