/** @file Generated. */
export interface TensorMethods { [name: string]: any }
