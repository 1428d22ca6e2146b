/** @file Which operators autocast gives another floating-point type, as PyTorch's lists for CPUs and accelerators say. */

/**
 * `lower`: arguments in the low-precision type. `float32`: arguments in float32. `promote`: arguments in the widest type
 * among them. `inside`: an operator written with others, which are cast one by one.
 */
export type AutocastPolicy = "lower" | "float32" | "promote" | "inside";

/** The policy on CPUs and the one on TPUs, which follows PyTorch's for CUDA. */
export interface AutocastFact {
  readonly cpu?: AutocastPolicy;
  readonly tpu?: AutocastPolicy;
}

const words = (text: string): string[] => text.trim().split(/\s+/);

const both: Partial<Record<AutocastPolicy, string>> = {
  lower: `conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution prelu
    bmm mm baddbmm addmm addbmm linear matmul linalg_vecdot scaled_dot_product_attention`,
  float32: `prod cdist binary_cross_entropy mse_loss cosine_embedding_loss nll_loss nll_loss2d nll_loss_nd
    hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss margin_ranking_loss
    soft_margin_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss kl_div ctc_loss
    binary_cross_entropy_with_logits`,
};

const cpu: Partial<Record<AutocastPolicy, string>> = {
  float32: `avg_pool3d max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d fractional_max_pool2d
    fractional_max_pool3d grid_sampler polar quantile nanquantile stft trace view_as_complex cholesky cholesky_inverse
    cholesky_solve inverse lu_solve orgqr ormqr pinverse geqrf _lu_with_info qr svd triangular_solve reflection_pad1d
    reflection_pad2d replication_pad1d replication_pad2d replication_pad3d multilabel_margin_loss_forward fft_fft fft_ifft
    fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft
    linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_cholesky_ex linalg_svd linalg_svdvals linalg_eig
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lstsq linalg_qr linalg_householder_product
    linalg_tensorinv linalg_tensorsolve`,
  promote: "stack cat index_copy",
  inside: "einsum tensordot inner linalg_multi_dot chain_matmul",
};

const tpu: Partial<Record<AutocastPolicy, string>> = {
  lower: `addmv addr mv einsum chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell
    rnn_tanh_cell rnn_relu_cell`,
  float32: `acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm
    native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm cosine_similarity dist pdist renorm logsumexp
    upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm
    norm sum`,
  promote:
    "addcdiv addcmul atan2 bilinear cross linalg_cross dot vdot grid_sampler index_put tensordot scatter_add cat stack",
};

const facts = new Map<string, { cpu?: AutocastPolicy; tpu?: AutocastPolicy }>();
for (const [table, devices] of [
  [both, ["cpu", "tpu"]],
  [cpu, ["cpu"]],
  [tpu, ["tpu"]],
] as const) {
  for (const [policy, names] of Object.entries(table)) {
    for (const name of words(names)) {
      const fact = facts.get(name) ?? {};
      for (const device of devices) fact[device] = policy as AutocastPolicy;
      facts.set(name, fact);
    }
  }
}

/** What autocast does to the operator of this name; null for nothing. */
export const autocastFact = (name: string): AutocastFact | null => facts.get(name) ?? null;
