/** @file `torch.utils.data`. */
export { DataLoader, default_collate, type DataLoaderOptions } from "./dataloader.js";
export { ConcatDataset, Dataset, IterableDataset, random_split, Subset, TensorDataset } from "./dataset.js";
export {
  BatchSampler,
  RandomSampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
  type RandomSamplerOptions,
  type Sampler,
} from "./sampler.js";
