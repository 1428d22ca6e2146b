/** @file Transformer layers and stacks of them, as in "Attention Is All You Need". */
import type { DType } from "../../schema/index.js";
import { TorchError } from "../../schema/index.js";
import type { DeviceLike, Tensor } from "../../tensor/index.js";
import { t } from "../aten.js";
import { deepcopy } from "../deepcopy.js";
import * as F from "../functional/activation.js";
import { additiveMask } from "../functional/attention.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { signature, type Args, type Bound } from "../signature.js";
import { MultiheadAttention } from "./attention.js";
import { ModuleList } from "./container.js";
import { Dropout } from "./dropout.js";
import { Linear } from "./linear.js";
import { LayerNorm } from "./normalization.js";

type Activation = "relu" | "gelu" | ((x: Tensor) => Tensor);
const activations: Record<string, ((x: Tensor) => Tensor) | undefined> = {
  relu: (x) => F.relu(x),
  gelu: (x) => F.gelu(x),
};
function activationOf(activation: Activation): (x: Tensor) => Tensor {
  if (typeof activation === "function") return activation;
  const found = activations[activation];
  if (!found) throw new TorchError(`activation should be relu/gelu, not ${activation}`);
  return found;
}

const layer = signature(
  "TransformerLayer.__init__(int d_model, int nhead, int dim_feedforward=2048, float dropout=0.1, Activation activation='relu', float layer_norm_eps=1e-05, bool batch_first=False, bool norm_first=False, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);

/** What encoder and decoder layers share: self attention and the two linear maps. */
abstract class TransformerLayer extends Module {
  self_attn: MultiheadAttention;
  /** Only in a decoder layer: attention to the memory. */
  multihead_attn!: MultiheadAttention;
  linear1: Linear;
  dropout: Dropout;
  linear2: Linear;
  readonly norm_first: boolean;
  norm1: LayerNorm;
  norm2: LayerNorm;
  norm3!: LayerNorm;
  dropout1: Dropout;
  dropout2: Dropout;
  dropout3!: Dropout;
  readonly activation: (x: Tensor) => Tensor;

  constructor(decoder: boolean, a: Bound<typeof layer.text>) {
    super();
    const { d_model, nhead, dim_feedforward, dropout, bias, batch_first, device, dtype } = a;
    const place = { bias, device, dtype };
    const attention = (): MultiheadAttention =>
      new MultiheadAttention(d_model, nhead, { dropout, batch_first, ...place });
    const norm = (): LayerNorm => new LayerNorm(d_model, { eps: a.layer_norm_eps, ...place });
    this.self_attn = attention();
    if (decoder) this.multihead_attn = attention();
    this.linear1 = new Linear(d_model, dim_feedforward, place);
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dim_feedforward, d_model, place);
    this.norm_first = a.norm_first;
    this.norm1 = norm();
    this.norm2 = norm();
    if (decoder) this.norm3 = norm();
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    if (decoder) this.dropout3 = new Dropout(dropout);
    this.activation = activationOf(a.activation);
  }
  protected attend(attention: MultiheadAttention, x: Tensor, memory: Tensor, masks: Masks): Tensor {
    const { attn_mask, key_padding_mask, is_causal } = masks;
    return attention(x, memory, memory, { attn_mask, key_padding_mask, is_causal, need_weights: false })[0];
  }
  protected feedForward(x: Tensor): Tensor {
    return this.linear2(this.dropout(this.activation(this.linear1(x))));
  }
}

interface Masks {
  readonly attn_mask: Tensor | null;
  readonly key_padding_mask: Tensor | null;
  readonly is_causal: boolean;
}

const encode = signature(
  "TransformerEncoderLayer.forward(Tensor src, Tensor? src_mask=None, Tensor? src_key_padding_mask=None, bool is_causal=False)",
);
/** Self attention and two linear maps. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html */
export class TransformerEncoderLayer extends TransformerLayer {
  constructor(...args: Args<typeof layer.text>) {
    super(false, layer.bind(args, `${new.target.name}.__init__`));
  }
  override forward(...args: Args<typeof encode.text>): Tensor {
    const { src, src_mask, src_key_padding_mask, is_causal } = encode.bind(args);
    const masks: Masks = {
      attn_mask: additiveMask(src_mask, "src_mask", src.dtype),
      key_padding_mask: additiveMask(src_key_padding_mask, "src_key_padding_mask", src.dtype),
      is_causal,
    };
    const attention = (x: Tensor): Tensor => this.dropout1(this.attend(this.self_attn, x, x, masks));
    const forward = (x: Tensor): Tensor => this.dropout2(this.feedForward(x));
    if (this.norm_first) {
      const x = src.add(attention(this.norm1(src)));
      return x.add(forward(this.norm2(x)));
    }
    const x = this.norm1(src.add(attention(src)));
    return this.norm2(x.add(forward(x)));
  }
}

const decode = signature(
  "TransformerDecoderLayer.forward(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool tgt_is_causal=False, bool memory_is_causal=False)",
);
/** Self attention, attention to a memory, and two linear maps. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoderLayer.html */
export class TransformerDecoderLayer extends TransformerLayer {
  constructor(...args: Args<typeof layer.text>) {
    super(true, layer.bind(args, `${new.target.name}.__init__`));
  }
  override forward(...args: Args<typeof decode.text>): Tensor {
    const a = decode.bind(args);
    const own: Masks = {
      attn_mask: a.tgt_mask,
      key_padding_mask: a.tgt_key_padding_mask,
      is_causal: a.tgt_is_causal,
    };
    const other: Masks = {
      attn_mask: a.memory_mask,
      key_padding_mask: a.memory_key_padding_mask,
      is_causal: a.memory_is_causal,
    };
    const self = (x: Tensor): Tensor => this.dropout1(this.attend(this.self_attn, x, x, own));
    const cross = (x: Tensor): Tensor => this.dropout2(this.attend(this.multihead_attn, x, a.memory, other));
    const forward = (x: Tensor): Tensor => this.dropout3(this.feedForward(x));
    let x = a.tgt;
    if (this.norm_first) {
      x = x.add(self(this.norm1(x)));
      x = x.add(cross(this.norm2(x)));
      return x.add(forward(this.norm3(x)));
    }
    x = this.norm1(x.add(self(x)));
    x = this.norm2(x.add(cross(x)));
    return this.norm3(x.add(forward(x)));
  }
}

const clones = <T extends Module>(module: T, count: number): ModuleList<T> =>
  new ModuleList(Array.from({ length: count }, () => deepcopy(module)));

const encoderForward = signature(
  "TransformerEncoder.forward(Tensor src, Tensor? mask=None, Tensor? src_key_padding_mask=None, bool? is_causal=None)",
);
/** Copies of an encoder layer, one after another. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html */
export class TransformerEncoder extends Module {
  layers: ModuleList<TransformerEncoderLayer>;
  readonly num_layers: number;
  norm: LayerNorm | null;
  constructor(
    encoder_layer: TransformerEncoderLayer,
    num_layers: number,
    norm: LayerNorm | null | { norm?: LayerNorm | null } = null,
  ) {
    super();
    this.layers = clones(encoder_layer, num_layers);
    this.num_layers = num_layers;
    this.norm = normOf(norm);
  }
  override forward(...args: Args<typeof encoderForward.text>): Tensor {
    const { src, mask, src_key_padding_mask, is_causal } = encoderForward.bind(args);
    let x = src;
    for (const one of this.layers) x = one(x, { src_mask: mask, src_key_padding_mask, is_causal: is_causal ?? false });
    return this.norm === null ? x : this.norm(x);
  }
}

const normOf = (norm: LayerNorm | null | { norm?: LayerNorm | null }): LayerNorm | null =>
  norm === null || norm instanceof LayerNorm ? norm : (norm.norm ?? null);

const decoderForward = signature(
  "TransformerDecoder.forward(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool? tgt_is_causal=None, bool memory_is_causal=False)",
);
/** Copies of a decoder layer, one after another. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoder.html */
export class TransformerDecoder extends Module {
  layers: ModuleList<TransformerDecoderLayer>;
  readonly num_layers: number;
  norm: LayerNorm | null;
  constructor(
    decoder_layer: TransformerDecoderLayer,
    num_layers: number,
    norm: LayerNorm | null | { norm?: LayerNorm | null } = null,
  ) {
    super();
    this.layers = clones(decoder_layer, num_layers);
    this.num_layers = num_layers;
    this.norm = normOf(norm);
  }
  override forward(...args: Args<typeof decoderForward.text>): Tensor {
    const { tgt, memory, tgt_is_causal, ...masks } = decoderForward.bind(args);
    let x = tgt;
    for (const one of this.layers) x = one(x, memory, { ...masks, tgt_is_causal: tgt_is_causal ?? false });
    return this.norm === null ? x : this.norm(x);
  }
}

const transformer = signature(
  "Transformer.__init__(int d_model=512, int nhead=8, int num_encoder_layers=6, int num_decoder_layers=6, int dim_feedforward=2048, float dropout=0.1, Activation activation='relu', Module? custom_encoder=None, Module? custom_decoder=None, float layer_norm_eps=1e-05, bool batch_first=False, bool norm_first=False, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);
const transformerForward = signature(
  "Transformer.forward(Tensor src, Tensor tgt, Tensor? src_mask=None, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? src_key_padding_mask=None, Tensor? tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool? src_is_causal=None, bool? tgt_is_causal=None, bool memory_is_causal=False)",
);
/** Encoder and decoder. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html */
export class Transformer extends Module {
  encoder: TransformerEncoder;
  decoder: TransformerDecoder;
  readonly d_model: number;
  readonly nhead: number;
  readonly batch_first: boolean;
  constructor(...args: Args<typeof transformer.text>) {
    super();
    const { custom_encoder, custom_decoder, num_encoder_layers, num_decoder_layers, ...a } = transformer.bind(args);
    const { d_model, nhead, layer_norm_eps: eps, bias, device, dtype } = a;
    const norm = (): LayerNorm => new LayerNorm(d_model, { eps, bias, device, dtype });
    this.encoder =
      (custom_encoder as TransformerEncoder | null) ??
      new TransformerEncoder(new TransformerEncoderLayer(a), num_encoder_layers, norm());
    this.decoder =
      (custom_decoder as TransformerDecoder | null) ??
      new TransformerDecoder(new TransformerDecoderLayer(a), num_decoder_layers, norm());
    this.d_model = d_model;
    this.nhead = nhead;
    this.batch_first = a.batch_first;
    for (const p of this.parameters()) if (p.ndim > 1) init.xavier_uniform_(p);
  }
  override forward(...args: Args<typeof transformerForward.text>): Tensor {
    const a = transformerForward.bind(args);
    const { src, tgt } = a;
    const batch = this.batch_first ? 0 : 1;
    if (src.ndim === 3 && src.shape[batch] !== tgt.shape[batch])
      throw new TorchError("the batch number of src and tgt must be equal");
    if (src.size(-1) !== this.d_model || tgt.size(-1) !== this.d_model)
      throw new TorchError("the feature number of src and tgt must be equal to d_model");
    const { src_key_padding_mask, src_is_causal } = a;
    const memory = this.encoder(src, { mask: a.src_mask, src_key_padding_mask, is_causal: src_is_causal });
    return this.decoder(tgt, memory, {
      tgt_mask: a.tgt_mask,
      memory_mask: a.memory_mask,
      tgt_key_padding_mask: a.tgt_key_padding_mask,
      memory_key_padding_mask: a.memory_key_padding_mask,
      tgt_is_causal: a.tgt_is_causal,
      memory_is_causal: a.memory_is_causal,
    });
  }
  /** -inf above the diagonal, 0 elsewhere. */
  static generate_square_subsequent_mask(
    sz: number,
    { device, dtype }: { device?: DeviceLike; dtype?: DType } = {},
  ): Tensor {
    return t.triu(t.full([sz, sz], -Infinity, { device, dtype }), 1);
  }
}
