/**
 * @file torch.nn.functional, by PyTorch's names and signatures: arguments in order, or by name in a last object.
 * `import * as F from "torch-tpu/nn/functional"`
 */
import "../api/index.js";
export * from "./functional/activation.js";
export * from "./functional/attention.js";
export * from "./functional/convolution.js";
export * from "./functional/distance.js";
export * from "./functional/dropout.js";
export * from "./functional/embedding.js";
export * from "./functional/normalization.js";
export * from "./functional/pooling.js";
export * from "./functional/vision.js";
export {
  binary_cross_entropy,
  binary_cross_entropy_with_logits,
  cosine_embedding_loss,
  cross_entropy,
  ctc_loss,
  gaussian_nll_loss,
  hinge_embedding_loss,
  huber_loss,
  kl_div,
  l1_loss,
  linear_cross_entropy,
  margin_ranking_loss,
  mse_loss,
  multi_margin_loss,
  multilabel_margin_loss,
  multilabel_soft_margin_loss,
  nll_loss,
  poisson_nll_loss,
  smooth_l1_loss,
  soft_margin_loss,
  triplet_margin_loss,
  triplet_margin_with_distance_loss,
} from "./functional/loss.js";
