/** @file Multi-head attention. */
import type { Tensor } from "../../tensor/index.js";
import { TorchError, TorchValueError } from "../../schema/index.js";
import { t } from "../aten.js";
import { multi_head_attention_forward } from "../functional/attention.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { signature, type Args } from "../signature.js";
import { Linear } from "./linear.js";
import { optionalParameter } from "./normalization.js";

const construct = signature(
  "MultiheadAttention.__init__(int embed_dim, int num_heads, float dropout=0.0, bool bias=True, bool add_bias_kv=False, bool add_zero_attn=False, int? kdim=None, int? vdim=None, bool batch_first=False, Device? device=None, ScalarType? dtype=None)",
);
const call = signature(
  "MultiheadAttention.forward(Tensor query, Tensor key, Tensor value, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, bool average_attn_weights=True, bool is_causal=False)",
);

/** The output projection; PyTorch prints it under this name. */
class NonDynamicallyQuantizableLinear extends Linear {}

/**
 * Attention of several heads. Called with query, key and value, gives the output and the attention weights.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
 */
export class MultiheadAttention extends Module {
  readonly embed_dim: number;
  readonly kdim: number;
  readonly vdim: number;
  readonly num_heads: number;
  readonly dropout: number;
  readonly batch_first: boolean;
  readonly head_dim: number;
  readonly add_zero_attn: boolean;
  q_proj_weight: Parameter | null;
  k_proj_weight: Parameter | null;
  v_proj_weight: Parameter | null;
  in_proj_weight: Parameter | null;
  in_proj_bias: Parameter | null;
  out_proj: Linear;
  bias_k: Parameter | null;
  bias_v: Parameter | null;

  constructor(...args: Args<typeof construct.text>) {
    super();
    const a = construct.bind(args);
    const { embed_dim, num_heads, device, dtype } = a;
    if (embed_dim <= 0 || num_heads <= 0)
      throw new TorchValueError(
        `embed_dim and num_heads must be greater than 0, got embed_dim=${embed_dim} and num_heads=${num_heads} instead`,
      );
    const place = { device, dtype };
    this.embed_dim = embed_dim;
    this.kdim = a.kdim ?? embed_dim;
    this.vdim = a.vdim ?? embed_dim;
    this.num_heads = num_heads;
    this.dropout = a.dropout;
    this.batch_first = a.batch_first;
    this.head_dim = Math.floor(embed_dim / num_heads);
    if (this.head_dim * num_heads !== embed_dim) throw new TorchError("embed_dim must be divisible by num_heads");
    const same = this.sharesProjection;
    this.q_proj_weight = optionalParameter(this, "q_proj_weight", !same, [embed_dim, embed_dim], place);
    this.k_proj_weight = optionalParameter(this, "k_proj_weight", !same, [embed_dim, this.kdim], place);
    this.v_proj_weight = optionalParameter(this, "v_proj_weight", !same, [embed_dim, this.vdim], place);
    this.in_proj_weight = optionalParameter(this, "in_proj_weight", same, [3 * embed_dim, embed_dim], place);
    this.in_proj_bias = optionalParameter(this, "in_proj_bias", a.bias, [3 * embed_dim], place);
    this.out_proj = new NonDynamicallyQuantizableLinear(embed_dim, embed_dim, { bias: a.bias, device, dtype });
    this.bias_k = a.add_bias_kv ? new Parameter(t.empty([1, 1, embed_dim], place)) : null;
    this.bias_v = a.add_bias_kv ? new Parameter(t.empty([1, 1, embed_dim], place)) : null;
    this.add_zero_attn = a.add_zero_attn;
    this._reset_parameters();
  }
  /** Whether query, key and value have one size, and so one weight. */
  private get sharesProjection(): boolean {
    return this.kdim === this.embed_dim && this.vdim === this.embed_dim;
  }
  _reset_parameters(): void {
    for (const w of [this.in_proj_weight, this.q_proj_weight, this.k_proj_weight, this.v_proj_weight])
      if (w) init.xavier_uniform_(w);
    if (this.in_proj_bias) {
      init.zeros_(this.in_proj_bias);
      init.zeros_(this.out_proj.bias!);
    }
    if (this.bias_k) init.xavier_normal_(this.bias_k);
    if (this.bias_v) init.xavier_normal_(this.bias_v);
  }
  override forward(...args: Args<typeof call.text>): [Tensor, Tensor | null] {
    const { query, key, value, ...options } = call.bind(args);
    const swaps = this.batch_first && query.ndim === 3;
    const turn = (x: Tensor): Tensor => (swaps ? x.transpose(1, 0) : x);
    const q = turn(query);
    const k = key === query ? q : turn(key);
    const v = value === key ? k : turn(value);
    const { out_proj } = this;
    const [output, weights] = multi_head_attention_forward({
      query: q,
      key: k,
      value: v,
      embed_dim_to_check: this.embed_dim,
      num_heads: this.num_heads,
      in_proj_weight: this.in_proj_weight,
      in_proj_bias: this.in_proj_bias,
      bias_k: this.bias_k,
      bias_v: this.bias_v,
      add_zero_attn: this.add_zero_attn,
      dropout_p: this.dropout,
      out_proj_weight: out_proj.weight,
      out_proj_bias: out_proj.bias,
      training: this.training,
      use_separate_proj_weight: !this.sharesProjection,
      q_proj_weight: this.q_proj_weight,
      k_proj_weight: this.k_proj_weight,
      v_proj_weight: this.v_proj_weight,
      ...options,
    });
    return [turn(output), weights];
  }
}
