/** @file The program of smoke_node_versions.mjs: the package by its own name, an addition, a gradient, a value read. */

import assert from "node:assert/strict";
import * as torch from "torch-tpu";

const x = torch.ones([2, 3], { requires_grad: true });
const y = torch.add(x, 2).sum();
y.backward();
assert.equal(y.item(), 18);
assert.deepEqual(x.grad.tolist(), [
  [1, 1, 1],
  [1, 1, 1],
]);
console.log(`${process.version}: add, sum and backward agree`);
