/** @file The protocol of modules: registration, names, moving, state_dict, hooks. Texts are PyTorch 2.13's. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as F from "torch-tpu/nn/functional";
import type { Tensor } from "torch-tpu";
import { loose, names, Net, values } from "./testing/net.js";

describe("a module is called like a function", () => {
  test("with the arguments of its forward", () => {
    const net = new Net();
    const x = torch.ones([4, 2]);
    expect(values(net(x))).toEqual(values(net.forward(x)));
    expect(values(net(x, 2))).toEqual(values(net.forward(x).mul(2)));
    expectTypeOf(net).toBeCallableWith(x, 2);
    expectTypeOf(net(x)).toEqualTypeOf<Tensor>();
  });

  test("is an instance of its class and has no properties of functions", () => {
    const net = new Net();
    expect(net).toBeInstanceOf(Net);
    expect(net).toBeInstanceOf(nn.Module);
    expect("name" in net).toBe(false);
    expect("length" in net).toBe(false);
    expect(net._get_name()).toBe("Net");
  });

  test("without a forward says so", () => {
    class Empty extends nn.Module {}
    expect(() => new Empty()()).toThrow('Module [Empty] is missing the required "forward" function');
  });
});

describe("registration", () => {
  test("parameters and modules by assignment, in order", () => {
    const net = new Net();
    expect(names(net.named_parameters())).toEqual(["fc1.weight", "fc1.bias", "fc2.weight"]);
    expect(names(net.named_buffers())).toEqual(["steps", "tmp"]);
    expect(names(net.named_children())).toEqual(["fc1", "fc2"]);
    expect(names(net.named_modules())).toEqual(["", "fc1", "fc2"]);
    expect(names(net.named_parameters({ prefix: "net", recurse: true }))[0]).toBe("net.fc1.weight");
    expect(names(net.named_parameters({ recurse: false }))).toEqual([]);
    expect([...net.parameters()].every((p) => p instanceof nn.Parameter && p.requires_grad)).toBe(true);
  });

  test("a module assigned anew takes the name over", () => {
    const net = new Net();
    net.fc1 = new nn.Linear(2, 5);
    expect(net.get_parameter("fc1.weight").shape).toEqual([5, 2]);
  });

  test("null keeps the name and has no value", () => {
    const m = new nn.Module();
    m.register_parameter("bias", null);
    expect([...m._parameters]).toEqual([["bias", null]]);
    expect([...m.parameters()]).toEqual([]);
    expect(m.state_dict()).toEqual({});
    loose(m).bias = new nn.Parameter(torch.ones([2]));
    expect(names(m.named_parameters())).toEqual(["bias"]);
  });

  test("a buffer stays a buffer when another tensor is assigned, and null removes its value", () => {
    const net = new Net();
    net.steps = torch.ones([1]);
    expect(names(net.named_buffers())).toEqual(["steps", "tmp"]);
    expect(values(net.get_buffer("steps"))).toEqual([1]);
    loose(net).steps = null;
    expect(names(net.named_buffers())).toEqual(["tmp"]);
    loose(net).steps = new nn.Parameter(torch.ones([1]));
    expect(names(net.named_parameters())).toContain("steps");
    expect(names(net.named_buffers())).toEqual(["tmp"]);
  });

  test("a Buffer is registered by assignment", () => {
    const m = new nn.Module();
    loose(m).a = new nn.Buffer(torch.ones([1]));
    loose(m).b = new nn.Buffer(torch.ones([1]), { persistent: false });
    expect(names(m.named_buffers())).toEqual(["a", "b"]);
    expect(Object.keys(m.state_dict())).toEqual(["a"]);
  });

  test("names that are numbers keep their order among others", () => {
    const m = new nn.ModuleDict({ b: new nn.ReLU(), 10: new nn.Tanh() });
    m.set("2", new nn.ReLU());
    m.set("a", new nn.ReLU());
    m.set("1", new nn.ReLU());
    m.set("7", new nn.ReLU());
    expect([...m.keys()].slice(-4)).toEqual(["2", "a", "1", "7"]);
  });

  test("deleting a parameter frees its name", () => {
    const fc = new nn.Linear(2, 3);
    const { weight } = fc;
    fc._parameters.delete("weight");
    loose(fc).weight = weight.mul(2);
    expect(names(fc.named_parameters())).toEqual(["bias"]);
    expect(fc(torch.ones([1, 2])).shape).toEqual([1, 3]);
  });

  const wrong: readonly (readonly [string, (net: Net) => void, string])[] = [
    ["dotted parameter", (n) => n.register_parameter("a.b", null), 'parameter name can\'t contain "."'],
    ["empty parameter", (n) => n.register_parameter("", null), 'parameter name can\'t be empty string ""'],
    ["taken parameter", (n) => n.register_parameter("forward", null), "attribute 'forward' already exists"],
    [
      "tensor as parameter",
      (n) => n.register_parameter("p", torch.zeros([1]) as nn.Parameter),
      "cannot assign 'torch.FloatTensor' object to parameter 'p' (torch.nn.Parameter or None required)",
    ],
    ["dotted buffer", (n) => n.register_buffer("a.b", null), 'buffer name can\'t contain "."'],
    ["taken buffer", (n) => n.register_buffer("fc1", torch.zeros([1])), "attribute 'fc1' already exists"],
    [
      "number as buffer",
      (n) => n.register_buffer("q", 3 as unknown as Tensor),
      "cannot assign 'int' object to buffer 'q' (torch Tensor or None required)",
    ],
    ["dotted module", (n) => n.add_module("a.b", new nn.ReLU()), 'module name can\'t contain ".", got: a.b'],
    ["empty module", (n) => n.add_module("", new nn.ReLU()), 'module name can\'t be empty string ""'],
    ["taken module", (n) => n.add_module("forward", new nn.ReLU()), "attribute 'forward' already exists"],
    ["number as module", (n) => n.add_module("x", 3 as unknown as nn.Module), "int is not a Module subclass"],
    [
      "tensor over a module",
      (n) => {
        names(n.named_modules());
        loose(n).fc1 = torch.zeros([3, 2]);
        names(n.named_modules());
      },
      "cannot assign 'torch.FloatTensor' as child module 'fc1' (torch.nn.Module or None expected)",
    ],
    [
      "tensor over a parameter",
      (n) => {
        names(n.named_parameters());
        loose(n.fc1).weight = torch.zeros([3, 2]);
        names(n.named_parameters());
      },
      "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
    ],
    [
      "number over a buffer",
      (n) => {
        loose(n).steps = 3;
        names(n.named_buffers());
      },
      "cannot assign 'int' as buffer 'steps' (torch.nn.Buffer, torch.Tensor or None expected)",
    ],
    ["no such module", (n) => n.get_submodule("fc3"), "Net has no attribute `fc3`"],
    ["module that is a buffer", (n) => n.get_submodule("steps"), "`steps` is not an nn.Module"],
    ["no such parameter", (n) => n.get_parameter("fc1.w"), "Linear has no attribute `w`"],
    ["parameter that is a module", (n) => n.get_parameter("fc1"), "`fc1` is not an nn.Parameter"],
    ["buffer that is a parameter", (n) => n.get_buffer("fc1.weight"), "`weight` is not a buffer"],
    [
      "integer dtype",
      (n) => n.to(torch.int32),
      "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32",
    ],
    ["mode that is no boolean", (n) => n.train(1 as unknown as boolean), "training mode is expected to be boolean"],
    [
      "integer parameter",
      () => new nn.Parameter(torch.zeros([2], { dtype: torch.int32 })),
      "Only Tensors of floating point and complex dtype can require gradients",
    ],
  ];
  test.each(wrong)("%s is refused", (_name, act, message) => {
    expect(() => act(new Net())).toThrow(message);
  });
});

describe("sharing", () => {
  class Tied extends nn.Module {
    a = new nn.Linear(2, 2, { bias: false });
    b = new nn.Linear(2, 2, { bias: false });
    constructor() {
      super();
      this.b.weight = this.a.weight;
    }
    override forward(x: Tensor): Tensor {
      return this.b(this.a(x));
    }
  }

  test("a shared parameter is listed once, under its first name", () => {
    const m = new Tied();
    expect(names(m.named_parameters())).toEqual(["a.weight"]);
    expect(names(m.named_parameters({ remove_duplicate: false }))).toEqual(["a.weight", "b.weight"]);
    expect(Object.keys(m.state_dict())).toEqual(["a.weight", "b.weight"]);
  });

  test("a shared module is listed once", () => {
    const one = new nn.ReLU();
    const m = new nn.Sequential(one, one);
    expect([...m.modules()].length).toBe(2);
    expect(names(m.named_modules({ remove_duplicate: false }))).toEqual(["", "0", "1"]);
    expect([...m.children()].length).toBe(1);
  });

  test("tied weights stay tied and parameters stay themselves through to()", () => {
    const m = new Tied();
    const before = m.a.weight;
    m.double().to("cpu").float();
    m.to("meta");
    expect(m.a.weight).toBe(before);
    expect(m.b.weight).toBe(before);
    expect(before.is_meta).toBe(true);
  });

  test("gradients of both uses add up", () => {
    const m = new Tied();
    nn.init.eye_(m.a.weight);
    m(torch.tensor([[1, 2]], { dtype: torch.float32 }))
      .sum()
      .backward();
    expect(values(m.a.weight.grad)).toEqual([
      [2, 4],
      [2, 4],
    ]);
  });
});

describe("modes and conversions", () => {
  test("train and eval reach every module", () => {
    const m = new nn.Sequential(new nn.Dropout(), new nn.Sequential(new nn.Dropout()));
    expect(m.eval()).toBe(m);
    expect([...m.modules()].map((x) => x.training)).toEqual([false, false, false, false]);
    m.train();
    expect([...m.modules()].map((x) => x.training)).toEqual([true, true, true, true]);
  });

  test("only floating point tensors change dtype, gradients with them", () => {
    const m = new nn.BatchNorm1d(2);
    m.weight!.grad = torch.ones([2]);
    m.to(torch.float64);
    expect(m.weight!.dtype).toBe(torch.float64);
    expect(m.weight!.grad!.dtype).toBe(torch.float64);
    expect(m.running_mean!.dtype).toBe(torch.float64);
    expect(m.num_batches_tracked!.dtype).toBe(torch.int64);
    expect(m.weight!.requires_grad).toBe(true);
    expect(m.half().weight!.dtype).toBe(torch.float16);
    expect(m.bfloat16().weight!.dtype).toBe(torch.bfloat16);
    expect(m.float().running_var!.dtype).toBe(torch.float32);
  });

  test("values survive a cast", () => {
    const m = new nn.Linear(1, 1);
    nn.init.constant_(m.weight, 1.5);
    expect(m.double().weight.item()).toBe(1.5);
  });

  test("to_empty brings a module from the meta device", () => {
    const m = new nn.Linear(2, 3, { device: "meta" });
    expect(() => m.to("cpu")).toThrow("Please use torch.nn.Module.to_empty() instead");
    expect(m.to_empty({ device: "cpu" }).weight.device.type).toBe("cpu");
  });

  test("requires_grad_ and zero_grad", () => {
    const m = new Net();
    m(torch.ones([1, 2]))
      .sum()
      .backward();
    const kept = m.fc1.weight.grad!;
    m.zero_grad({ set_to_none: false });
    expect(m.fc1.weight.grad).toBe(kept);
    expect(kept.abs().sum().item()).toBe(0);
    m.zero_grad();
    expect(m.fc1.weight.grad).toBe(null);
    m.requires_grad_(false);
    expect([...m.parameters()].some((p) => p.requires_grad)).toBe(false);
  });

  test("apply visits children first", () => {
    const seen: string[] = [];
    const m = new nn.Sequential(new nn.ReLU(), new nn.Sequential(new nn.Tanh()));
    expect(m.apply((x) => seen.push(x._get_name()))).toBe(m);
    expect(seen).toEqual(["ReLU", "Tanh", "Sequential", "Sequential"]);
  });
});

describe("arguments", () => {
  const wrong: readonly (readonly [string, () => unknown, string])[] = [
    [
      "missing one",
      () => new nn.Linear(3 as never),
      "Linear.__init__() missing 1 required positional argument: 'out_features'",
    ],
    [
      "missing two",
      () => new nn.Linear({} as never),
      "Linear.__init__() missing 2 required positional arguments: 'in_features' and 'out_features'",
    ],
    [
      "unknown keyword",
      () => new nn.Linear(3, 4, { foo: 1 } as never),
      "Linear.__init__() got an unexpected keyword argument 'foo'",
    ],
    [
      "twice",
      () => new nn.Linear(3, 4, { in_features: 3 } as never),
      "Linear.__init__() got multiple values for argument 'in_features'",
    ],
    [
      "too many",
      () => new nn.Linear(...([3, 4, true, null, null, 5] as unknown as [number, number])),
      "Linear.__init__() takes from 3 to 6 positional arguments but 7 were given",
    ],
    [
      "too many for a function",
      () => F.relu(...([torch.ones([1]), true, 3] as unknown as [Tensor])),
      "relu() takes from 1 to 2 positional arguments but 3 were given",
    ],
    [
      "missing for a function",
      () => F.cross_entropy(torch.ones([1]) as never),
      "cross_entropy() missing 1 required positional argument: 'target'",
    ],
    [
      "a shared signature",
      () => new nn.Conv2d(3 as never),
      "Conv2d.__init__() missing 2 required positional arguments: 'out_channels' and 'kernel_size'",
    ],
  ];
  test.each(wrong)("%s", (_name, act, message) => {
    expect(act).toThrow(message);
  });

  test("in order and by name are the same", () => {
    const byOrder = new nn.Conv2d(3, 8, 3, 2, 1, 1, 1, false);
    const byName = new nn.Conv2d({
      in_channels: 3,
      out_channels: 8,
      kernel_size: 3,
      stride: 2,
      padding: 1,
      bias: false,
    });
    expect(byOrder.toString()).toBe(byName.toString());
  });
});

test("deepcopy copies what belongs to the module and keeps sharing", () => {
  const m = new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2));
  (m.at(0) as nn.Linear).weight.grad = null;
  const copy = nn.deepcopy(m);
  expect(copy.toString()).toBe(m.toString());
  expect(Object.keys(copy.state_dict())).toEqual(Object.keys(m.state_dict()));
  expect(copy.get_parameter("0.weight") === m.get_parameter("0.weight")).toBe(false);
  expect(values(copy.get_parameter("0.weight"))).toEqual(values(m.get_parameter("0.weight")));
  nn.init.zeros_(copy.get_parameter("0.weight"));
  expect(m.get_parameter("0.weight").abs().sum().item()).not.toBe(0);
  expect(copy(torch.ones([2, 2])).shape).toEqual([2, 2]);
});

test("containers", () => {
  const list = new nn.ModuleList([new nn.Linear(1, 1), new nn.ReLU() as nn.Module]);
  expect(list.length).toBe(2);
  expect(list.at(-1)).toBe(list[1]);
  list.insert(1, new nn.Tanh());
  expect([...list].map((m) => m._get_name())).toEqual(["Linear", "Tanh", "ReLU"]);
  expect(list.pop(0)._get_name()).toBe("Linear");
  expect(names(list.named_children())).toEqual(["0", "1"]);
  expect(() => list.at(2)).toThrow("index 2 is out of range");
  const seq = new nn.Sequential({ fc: new nn.Linear(2, 3), act: new nn.ReLU() });
  expect(Object.keys(seq.state_dict())).toEqual(["fc.weight", "fc.bias"]);
  expect(seq.slice(0, 1).toString()).toContain("(fc): Linear");
  const dict = new nn.ModuleDict({ a: new nn.ReLU() });
  expect(dict.has("a")).toBe(true);
  expect(() => dict.get("b")).toThrow("'b'");
  dict.pop("a");
  expect(dict.length).toBe(0);
  const params = new nn.ParameterList([torch.ones([2]), new nn.Parameter(torch.ones([3]))]);
  expect(params.length).toBe(2);
  expect(params[1].shape).toEqual([3]);
  expect(names(params.named_parameters())).toEqual(["0", "1"]);
  const named = new nn.ParameterDict({ w: torch.ones([2]) });
  expect(named.get("w")).toBeInstanceOf(nn.Parameter);
  expect(Object.keys(named.state_dict())).toEqual(["w"]);
});
