/** @file Embeddings. */
import { no_grad } from "../../autograd/index.js";
import type { Tensor } from "../../tensor/index.js";
import { TorchError, TorchNotImplementedError } from "../../schema/index.js";
import { t } from "../aten.js";
import * as F from "../functional/embedding.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { floatText } from "../printing.js";
import { signature, type Args } from "../signature.js";

const embedding = signature(
  "Embedding.__init__(int num_embeddings, int embedding_dim, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False, Tensor? _weight=None, bool _freeze=False, Device? device=None, ScalarType? dtype=None)",
);
const pretrained = signature(
  "from_pretrained(Tensor embeddings, bool freeze=True, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)",
);

function paddingIndex(padding_idx: number | null, num_embeddings: number): number | null {
  if (padding_idx === null) return null;
  if (padding_idx >= num_embeddings || padding_idx < -num_embeddings)
    throw new TorchError("Padding_idx must be within num_embeddings");
  return padding_idx < 0 ? num_embeddings + padding_idx : padding_idx;
}

function checkedWeight(weight: Tensor, num_embeddings: number, embedding_dim: number): Tensor {
  if (weight.shape.join() !== [num_embeddings, embedding_dim].join())
    throw new TorchError("Shape of weight does not match num_embeddings and embedding_dim");
  return weight;
}

function checkMatrix(embeddings: Tensor): void {
  if (embeddings.ndim !== 2) throw new TorchError("Embeddings parameter is expected to be 2-dimensional");
}

/** A normal draw for every row but the padding's, which is zero. */
function resetRows(weight: Parameter, padding_idx: number | null): void {
  init.normal_(weight);
  if (padding_idx !== null) no_grad(() => void weight.select(0, padding_idx).fill_(0));
}

/** One row for each of num_embeddings indices. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html */
export class Embedding extends Module {
  readonly num_embeddings: number;
  readonly embedding_dim: number;
  readonly padding_idx: number | null;
  readonly max_norm: number | null;
  readonly norm_type: number;
  readonly scale_grad_by_freq: boolean;
  readonly sparse: boolean;
  weight: Parameter;
  constructor(...args: Args<typeof embedding.text>) {
    super();
    const a = embedding.bind(args);
    const { num_embeddings, embedding_dim, device, dtype } = a;
    if (a.sparse)
      throw new TorchNotImplementedError("Embedding: expected sparse=False, sparse gradients do not exist here");
    this.num_embeddings = num_embeddings;
    this.embedding_dim = embedding_dim;
    this.padding_idx = paddingIndex(a.padding_idx, num_embeddings);
    this.max_norm = a.max_norm;
    this.norm_type = a.norm_type;
    this.scale_grad_by_freq = a.scale_grad_by_freq;
    this.sparse = a.sparse;
    const data = a._weight ?? t.empty([num_embeddings, embedding_dim], { device, dtype });
    this.weight = new Parameter(checkedWeight(data, num_embeddings, embedding_dim), !a._freeze);
    if (a._weight === null) this.reset_parameters();
  }
  /** An embedding with these rows, fixed unless `freeze` is false. */
  static from_pretrained(...args: Args<typeof pretrained.text>): Embedding {
    const { embeddings, freeze, ...rest } = pretrained.bind(args);
    checkMatrix(embeddings);
    const [num_embeddings, embedding_dim] = embeddings.shape;
    return new this({ num_embeddings, embedding_dim, _weight: embeddings, _freeze: freeze, ...rest });
  }
  reset_parameters(): void {
    resetRows(this.weight, this.padding_idx);
  }
  override forward(input: Tensor): Tensor {
    const { weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse } = this;
    return F.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse);
  }
  override extra_repr(): string {
    return rowsText(this);
  }
}

function rowsText(m: Embedding): string {
  const parts = [String(m.num_embeddings), String(m.embedding_dim)];
  if (m.padding_idx !== null) parts.push(`padding_idx=${m.padding_idx}`);
  if (m.max_norm !== null) parts.push(`max_norm=${floatText(m.max_norm)}`);
  if (m.norm_type !== 2) parts.push(`norm_type=${floatText(m.norm_type)}`);
  if (m.scale_grad_by_freq) parts.push("scale_grad_by_freq=True");
  return parts.join(", ");
}

const embeddingBag = signature(
  "EmbeddingBag.__init__(int num_embeddings, int embedding_dim, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? _weight=None, bool include_last_offset=False, int? padding_idx=None, Device? device=None, ScalarType? dtype=None)",
);
const pretrainedBag = signature(
  "from_pretrained(Tensor embeddings, bool freeze=True, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, bool include_last_offset=False, int? padding_idx=None)",
);

/** Sums, means or maxima of bags of rows. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html */
export class EmbeddingBag extends Module {
  readonly num_embeddings: number;
  readonly embedding_dim: number;
  readonly max_norm: number | null;
  readonly norm_type: number;
  readonly scale_grad_by_freq: boolean;
  readonly mode: string;
  readonly sparse: boolean;
  readonly include_last_offset: boolean;
  readonly padding_idx: number | null;
  weight: Parameter;
  constructor(...args: Args<typeof embeddingBag.text>) {
    super();
    const a = embeddingBag.bind(args);
    const { num_embeddings, embedding_dim, device, dtype } = a;
    if (a.sparse)
      throw new TorchNotImplementedError("EmbeddingBag: expected sparse=False, sparse gradients do not exist here");
    this.num_embeddings = num_embeddings;
    this.embedding_dim = embedding_dim;
    this.max_norm = a.max_norm;
    this.norm_type = a.norm_type;
    this.scale_grad_by_freq = a.scale_grad_by_freq;
    this.mode = a.mode;
    this.sparse = a.sparse;
    this.include_last_offset = a.include_last_offset;
    this.padding_idx = paddingIndex(a.padding_idx, num_embeddings);
    const data = a._weight ?? t.empty([num_embeddings, embedding_dim], { device, dtype });
    this.weight = new Parameter(checkedWeight(data, num_embeddings, embedding_dim));
    if (a._weight === null) this.reset_parameters();
  }
  /** Bags of these rows, fixed unless `freeze` is false. */
  static from_pretrained(...args: Args<typeof pretrainedBag.text>): EmbeddingBag {
    const { embeddings, freeze, ...rest } = pretrainedBag.bind(args);
    checkMatrix(embeddings);
    const [num_embeddings, embedding_dim] = embeddings.shape;
    const made = new this({ num_embeddings, embedding_dim, _weight: embeddings, ...rest });
    made.weight.requires_grad = !freeze;
    return made;
  }
  reset_parameters(): void {
    resetRows(this.weight, this.padding_idx);
  }
  override forward(input: Tensor, offsets: Tensor | null = null, per_sample_weights: Tensor | null = null): Tensor {
    const { max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx } = this;
    return F.embedding_bag(input, this.weight, {
      offsets,
      max_norm,
      norm_type,
      scale_grad_by_freq,
      mode,
      sparse,
      per_sample_weights,
      include_last_offset,
      padding_idx,
    });
  }
  override extra_repr(): string {
    const parts = [String(this.num_embeddings), String(this.embedding_dim)];
    if (this.max_norm !== null) parts.push(`max_norm=${floatText(this.max_norm)}`);
    if (this.norm_type !== 2) parts.push(`norm_type=${floatText(this.norm_type)}`);
    if (this.scale_grad_by_freq) parts.push("scale_grad_by_freq=True");
    parts.push(`mode='${this.mode}'`);
    if (this.padding_idx !== null) parts.push(`padding_idx=${this.padding_idx}`);
    return parts.join(", ");
  }
}
