import { expect, it } from "vitest";
import * as torch from "../index.js";
import { AdamW, SGD } from "./index.js";
import { programsCompiled } from "../dispatch/program.js";
it("runs", () => {
  const shapes = Array.from({ length: 80 }, (_, i) => (i % 3 === 0 ? [192] : i % 3 === 1 ? [192, 192] : [192, 768]));
  const ps = shapes.map((s) => torch.randn(s).requires_grad_());
  for (const p of ps) p.grad = torch.randn(p.shape as number[]);
  for (const Opt of [SGD, AdamW]) {
    const o = new Opt(ps, { lr: 0.1 });
    let t = performance.now();
    const c0 = programsCompiled();
    o.step();
    ps[0].sum().item();
    console.log(Opt.name, "first", performance.now() - t, programsCompiled() - c0);
    o.step();
    t = performance.now();
    for (let i = 0; i < 20; i++) o.step();
    console.log("host", (performance.now() - t) / 20);
    ps[0].sum().item();
    console.log("step", (performance.now() - t) / 20, programsCompiled() - c0);
    o.param_groups[0].lr = 0.01;
    o.step();
    o.param_groups[0].lr = 0;
    o.step();
    o.param_groups[0].lr = 1;
    o.step();
    console.log(programsCompiled() - c0);
  }
  expect(1).toBe(1);
});
