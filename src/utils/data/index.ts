/** @file `torch.utils.data`. */
export { default_collate, default_convert, type Collated } from "./collate.js";
export { DataLoader, type DataLoaderOptions } from "./dataloader.js";
export {
  ChainDataset,
  ConcatDataset,
  Dataset,
  IterableDataset,
  random_split,
  StackDataset,
  Subset,
  TensorDataset,
} from "./dataset.js";
export {
  BatchSampler,
  RandomSampler,
  Sampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
  type RandomSamplerOptions,
  type Sized,
} from "./sampler.js";
