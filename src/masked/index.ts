/** @file `torch.masked`: PyTorch's reductions and normalizations with a `mask` of the elements to keep. */
export { cumprod, cumsum, log_softmax, normalize, softmax, softmin } from "./normalizations.js";
export {
  amax,
  amin,
  argmax,
  argmin,
  logaddexp,
  logsumexp,
  mean,
  median,
  norm,
  prod,
  std,
  sum,
  var_ as var,
} from "./reductions.js";
