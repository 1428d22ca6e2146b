/**
 * @file GPT, as in minGPT: a stack of transformer blocks over characters.
 * Parameter names and shapes are minGPT's, which are GPT-2's with the weights of linear layers transposed.
 */
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as F from "torch-tpu/nn/functional";
import type { Tensor } from "torch-tpu";

export interface GPTConfig {
  vocab_size: number;
  /** The longest sequence the model can see. */
  block_size: number;
  n_layer: number;
  n_head: number;
  n_embd: number;
  /** Probabilities of dropout: after the embedding, in residual branches, on attention weights. */
  embd_pdrop: number;
  resid_pdrop: number;
  attn_pdrop: number;
  /** Whether the output layer shares the embedding's weights. */
  tie_weights: boolean;
}

export const defaultConfig = {
  n_layer: 4,
  n_head: 4,
  n_embd: 128,
  embd_pdrop: 0,
  resid_pdrop: 0,
  attn_pdrop: 0,
  tie_weights: false,
} as const;

/** Masked multi-head self-attention: a position sees itself and those before it. */
class CausalSelfAttention extends nn.Module {
  c_attn: nn.Linear;
  c_proj: nn.Linear;
  resid_dropout: nn.Dropout;
  constructor(readonly config: GPTConfig) {
    super();
    if (config.n_embd % config.n_head !== 0)
      throw new Error(
        `GPTConfig: expected n_embd to be a multiple of n_head, got ${config.n_embd} and ${config.n_head}`,
      );
    this.c_attn = new nn.Linear(config.n_embd, 3 * config.n_embd); // query, key and value of all heads
    this.c_proj = new nn.Linear(config.n_embd, config.n_embd);
    this.resid_dropout = new nn.Dropout(config.resid_pdrop);
  }
  override forward(x: Tensor): Tensor {
    const [B, T, C] = x.shape;
    const { n_head, attn_pdrop } = this.config;
    const heads = (t: Tensor): Tensor => t.view(B, T, n_head, C / n_head).transpose(1, 2); // (B, heads, T, C / heads)
    const [q, k, v] = this.c_attn(x).split(C, 2).map(heads);
    const y = F.scaled_dot_product_attention(q, k, v, { is_causal: true, dropout_p: this.training ? attn_pdrop : 0 });
    return this.resid_dropout(this.c_proj(y.transpose(1, 2).reshape(B, T, C)));
  }
}

class MLP extends nn.Module {
  c_fc: nn.Linear;
  act: nn.GELU;
  c_proj: nn.Linear;
  dropout: nn.Dropout;
  constructor(config: GPTConfig) {
    super();
    this.c_fc = new nn.Linear(config.n_embd, 4 * config.n_embd);
    this.act = new nn.GELU({ approximate: "tanh" });
    this.c_proj = new nn.Linear(4 * config.n_embd, config.n_embd);
    this.dropout = new nn.Dropout(config.resid_pdrop);
  }
  override forward(x: Tensor): Tensor {
    return this.dropout(this.c_proj(this.act(this.c_fc(x))));
  }
}

class Block extends nn.Module {
  ln_1: nn.LayerNorm;
  attn: CausalSelfAttention;
  ln_2: nn.LayerNorm;
  mlp: MLP;
  constructor(config: GPTConfig) {
    super();
    this.ln_1 = new nn.LayerNorm(config.n_embd);
    this.attn = new CausalSelfAttention(config);
    this.ln_2 = new nn.LayerNorm(config.n_embd);
    this.mlp = new MLP(config);
  }
  override forward(x: Tensor): Tensor {
    const y = x.add(this.attn(this.ln_1(x)));
    return y.add(this.mlp(this.ln_2(y)));
  }
}

class Transformer extends nn.Module {
  wte: nn.Embedding;
  wpe: nn.Embedding;
  drop: nn.Dropout;
  h: nn.ModuleList<Block>;
  ln_f: nn.LayerNorm;
  constructor(config: GPTConfig) {
    super();
    this.wte = new nn.Embedding(config.vocab_size, config.n_embd);
    this.wpe = new nn.Embedding(config.block_size, config.n_embd);
    this.drop = new nn.Dropout(config.embd_pdrop);
    this.h = new nn.ModuleList(Array.from({ length: config.n_layer }, () => new Block(config)));
    this.ln_f = new nn.LayerNorm(config.n_embd);
  }
  override forward(idx: Tensor): Tensor {
    const pos = torch.arange(0, idx.size(1), { device: idx.device });
    let x = this.drop(this.wte(idx).add(this.wpe(pos)));
    for (const block of this.h) x = block(x);
    return this.ln_f(x);
  }
}

export class GPT extends nn.Module {
  transformer: Transformer;
  lm_head: nn.Linear;
  constructor(readonly config: GPTConfig) {
    super();
    this.transformer = new Transformer(config);
    this.lm_head = new nn.Linear(config.n_embd, config.vocab_size, { bias: false });
    this.apply((module) => this.initialize(module));
    for (const [name, p] of this.named_parameters()) {
      // Residual branches start smaller, the deeper the model (GPT-2 paper, section 2.3).
      if (name.endsWith("c_proj.weight")) nn.init.normal_(p, 0, 0.02 / Math.sqrt(2 * config.n_layer));
    }
    if (config.tie_weights) this.lm_head.weight = this.transformer.wte.weight;
  }

  private initialize(module: nn.Module): void {
    if (module instanceof nn.Linear) {
      nn.init.normal_(module.weight, 0, 0.02);
      if (module.bias) nn.init.zeros_(module.bias);
    } else if (module instanceof nn.Embedding) nn.init.normal_(module.weight, 0, 0.02);
  }

  /** Logits for the next character at every position (B, T, vocab_size) and, with `targets`, the mean loss. */
  override forward(idx: Tensor, targets: Tensor | null = null): { logits: Tensor; loss: Tensor | null } {
    const T = idx.size(1);
    if (T > this.config.block_size)
      throw new Error(`GPT: expected at most block_size = ${this.config.block_size} positions, got ${T}`);
    const logits = this.lm_head(this.transformer(idx));
    const loss = targets && F.cross_entropy(logits.view(-1, this.config.vocab_size), targets.view(-1));
    return { logits, loss };
  }

  /** Two groups: matrices decay, biases, norms and embeddings do not. */
  parameterGroups(weight_decay: number): { params: nn.Parameter[]; weight_decay: number }[] {
    const named = [...this.named_parameters()];
    const decays = ([name, p]: [string, nn.Parameter]): boolean => p.ndim === 2 && !/wte|wpe/.test(name);
    return [
      { params: named.filter(decays).map(([, p]) => p), weight_decay },
      { params: named.filter((n) => !decays(n)).map(([, p]) => p), weight_decay: 0 },
    ];
  }

  /**
   * Continues `idx` (B, T) by `max_new_tokens` characters; returns all of them (B, T + max_new_tokens).
   * The model always sees a window of block_size positions, so that one program serves every step: what lies behind
   * the last character is hidden by the causal mask.
   */
  generate(
    idx: Tensor,
    max_new_tokens: number,
    options: { temperature?: number; do_sample?: boolean; top_k?: number } = {},
  ): Tensor {
    const { block_size } = this.config;
    return torch.no_grad(() => {
      let length = Math.min(idx.size(1), block_size);
      let window = torch.zeros([idx.size(0), block_size], { dtype: idx.dtype, device: idx.device });
      window.narrow(1, 0, length).copy_(idx.narrow(1, idx.size(1) - length, length));
      const made: Tensor[] = [];
      for (let i = 0; i < max_new_tokens; i++) {
        const next = this.pick(this.forward(window).logits.select(1, length - 1), options);
        made.push(next);
        if (length < block_size) window.narrow(1, length++, 1).copy_(next);
        else window = torch.cat([window.narrow(1, 1, block_size - 1), next], 1);
      }
      return torch.cat([idx, ...made], 1);
    });
  }

  /** The next character (B, 1) from logits (B, vocab_size). */
  private pick(
    logits: Tensor,
    { temperature = 1, do_sample = true, top_k }: { temperature?: number; do_sample?: boolean; top_k?: number },
  ): Tensor {
    let scaled = logits.div(temperature);
    if (top_k !== undefined) {
      const [kept] = torch.topk(scaled, Math.min(top_k, scaled.size(-1)));
      scaled = scaled.masked_fill(scaled.lt(kept.narrow(1, kept.size(1) - 1, 1)), -Infinity);
    }
    const probs = F.softmax(scaled, -1);
    return do_sample ? torch.multinomial(probs, 1) : torch.argmax(probs, -1, true);
  }
}
