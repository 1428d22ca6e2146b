/** @file Generated. */
export interface Functional { [name: string]: (...args: any[]) => any }
