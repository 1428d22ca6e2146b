/** @file The protocol of modules: registration, names, moving, state_dict, hooks. Texts are PyTorch 2.13's. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as F from "torch-tpu/nn/functional";
import type { Tensor } from "torch-tpu";

class Net extends nn.Module {
  fc1 = new nn.Linear(2, 3);
  fc2 = new nn.Linear(3, 2, { bias: false });
  declare steps: Tensor;
  constructor() {
    super();
    this.register_buffer("steps", torch.zeros([1]));
    this.register_buffer("tmp", torch.zeros([2]), { persistent: false });
  }
  override forward(x: Tensor, scale = 1): Tensor {
    return this.fc2(F.relu(this.fc1(x))).mul(scale);
  }
}

const names = (pairs: Iterable<readonly [string, unknown]>): string[] => [...pairs].map(([n]) => n);
const loose = (m: nn.Module): Record<string, unknown> => m as unknown as Record<string, unknown>;
const values = (t: Tensor | null): unknown => t!.tolist();

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

describe("state_dict", () => {
  test("holds parameters and persistent buffers, outside of the graph, sharing memory", () => {
    const net = new Net();
    const sd = net.state_dict();
    expect(Object.keys(sd)).toEqual(["steps", "fc1.weight", "fc1.bias", "fc2.weight"]);
    expect(sd["fc1.weight"].requires_grad).toBe(false);
    expect(net.state_dict({ keep_vars: true })["fc1.weight"]).toBe(net.fc1.weight);
    expect(Object.keys(net.state_dict({ prefix: "m." }))[1]).toBe("m.fc1.weight");
    nn.init.constant_(net.fc1.weight, 3);
    expect(sd["fc1.weight"].sum().item()).toBe(18);
  });

  test("loads into another module and leaves its parameters in place", () => {
    const [a, b] = [new Net(), new Net()];
    const { weight } = b.fc1;
    const result = b.load_state_dict(a.state_dict());
    expect(String(result)).toBe("<All keys matched successfully>");
    expect(b.fc1.weight).toBe(weight);
    expect(values(b.fc1.weight)).toEqual(values(a.fc1.weight));
  });

  test("strict loading names every fault", () => {
    const net = new Net();
    const sd = net.state_dict();
    delete sd["fc1.bias"];
    sd.other = torch.zeros([1]);
    sd["fc1.weight"] = torch.zeros([4, 2]);
    sd["fc2.x.y"] = torch.zeros([1]);
    let message = "";
    try {
      net.load_state_dict(sd);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toBe(
      'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc1.bias". \n\tUnexpected key(s) in state_dict: "other", "fc2.x.y". \n\tsize mismatch for fc1.weight: copying a param with shape torch.Size([4, 2]) from checkpoint, the shape in current model is torch.Size([3, 2]).',
    );
    delete sd["fc1.weight"];
    const result = net.load_state_dict(sd, { strict: false });
    expect(String(result)).toBe(
      "_IncompatibleKeys(missing_keys=['fc1.weight', 'fc1.bias'], unexpected_keys=['other', 'fc2.x.y'])",
    );
    expect(result.missing_keys).toEqual(["fc1.weight", "fc1.bias"]);
  });

  test("what is no tensor is reported", () => {
    const net = new Net();
    const sd = { ...net.state_dict(), steps: 3 as unknown as Tensor };
    expect(() => net.load_state_dict(sd)).toThrow(
      "Error(s) in loading state_dict for Net:\n\tWhile copying the parameter named \"steps\", expected torch.Tensor or Tensor-like object from checkpoint but received <class 'int'>",
    );
  });

  test("a failed load of one key leaves the others loaded, as in PyTorch", () => {
    const net = new Net();
    const sd: nn.StateDict = { ...new Net().state_dict(), "fc1.bias": torch.zeros([7]) };
    expect(() => net.load_state_dict(sd)).toThrow("size mismatch for fc1.bias");
    expect(values(net.fc1.weight)).toEqual(values(sd["fc1.weight"]));
  });

  test("assign makes the given tensors the module's own", () => {
    const net = new Net();
    const sd = new Net().double().state_dict();
    net.load_state_dict(sd, { assign: true });
    expect(net.fc1.weight.dtype).toBe(torch.float64);
    expect(net.fc1.weight).toBeInstanceOf(nn.Parameter);
    expect(net.fc1.weight.requires_grad).toBe(true);
    expect(net.steps).toBe(sd.steps);
  });

  test("loading casts to the module's dtype", () => {
    const net = new Net();
    net.load_state_dict(new Net().double().state_dict());
    expect(net.fc1.weight.dtype).toBe(torch.float32);
  });

  test("a batch norm without a count of batches is of an older format", () => {
    const bn = new nn.BatchNorm1d(2);
    const { num_batches_tracked: _, ...old } = bn.state_dict();
    expect(() => bn.load_state_dict(old)).not.toThrow();
    const current = bn.state_dict();
    delete current.num_batches_tracked;
    expect(() => bn.load_state_dict(current)).toThrow('Missing key(s) in state_dict: "num_batches_tracked".');
  });

  test("extra state is saved and loaded", () => {
    class WithExtra extends nn.Module {
      note = "a";
      override get_extra_state(): unknown {
        return this.note;
      }
      override set_extra_state(state: unknown): void {
        this.note = state as string;
      }
    }
    const [a, b] = [new WithExtra(), new WithExtra()];
    a.note = "kept";
    b.load_state_dict(a.state_dict());
    expect(b.note).toBe("kept");
    expect(() => b.load_state_dict({})).toThrow('Missing key(s) in state_dict: "_extra_state".');
  });
});

describe("hooks", () => {
  test("forward hooks see and replace arguments and outputs, and can be removed", () => {
    const m = new nn.Identity();
    const x = torch.tensor([1, 2], { dtype: torch.float32 });
    const seen: string[] = [];
    const first = m.register_forward_pre_hook((_, [a]) => {
      seen.push("pre");
      return (a as Tensor).mul(2);
    });
    const second = m.register_forward_hook((_, [a], out) => {
      seen.push("post");
      expect(values(a as Tensor)).toEqual([2, 4]);
      return (out as Tensor).add(1);
    });
    m.register_forward_pre_hook(
      () => {
        seen.push("first of all");
      },
      { prepend: true },
    );
    expect(values(m(x) as Tensor)).toEqual([3, 5]);
    expect(seen).toEqual(["first of all", "pre", "post"]);
    first.remove();
    second.remove();
    expect(values(m(x) as Tensor)).toEqual([1, 2]);
  });

  test("an always_call hook runs when forward throws", () => {
    class Bad extends nn.Module {
      override forward(): Tensor {
        throw new Error("forward failed");
      }
    }
    const m = new Bad();
    const seen: unknown[] = [];
    m.register_forward_hook((_, __, out) => void seen.push(out), { always_call: true });
    m.register_forward_hook(() => void seen.push("not this one"));
    expect(() => m()).toThrow("forward failed");
    expect(seen).toEqual([null]);
  });

  test("hooks for all modules", () => {
    const seen: string[] = [];
    const handle = nn.register_module_forward_hook((m) => void seen.push(m._get_name()));
    new nn.Sequential(new nn.ReLU())(torch.ones([1]));
    handle.remove();
    new nn.ReLU()(torch.ones([1]));
    expect(seen).toEqual(["ReLU", "Sequential"]);
  });

  test("full backward hooks see gradients of inputs and outputs, and replace them", () => {
    const fc = new nn.Linear(2, 1, { bias: false });
    nn.init.constant_(fc.weight, 3);
    const x = torch.ones([1, 2], { requires_grad: true });
    const seen: unknown[] = [];
    fc.register_full_backward_pre_hook((_, [g]) => [g!.mul(2)]);
    fc.register_full_backward_hook((_, gradInput, gradOutput) => {
      seen.push(values(gradInput[0]), values(gradOutput[0]));
      return [gradInput[0]!.mul(10)];
    });
    fc(x).sum().backward();
    expect(seen).toEqual([[[6, 6]], [[2]]]);
    expect(values(x.grad)).toEqual([[60, 60]]);
    expect(values(fc.weight.grad)).toEqual([[2, 2]]);
  });

  test("a full backward hook runs where no input requires a gradient", () => {
    const fc = new nn.Linear(2, 1);
    const seen: unknown[] = [];
    fc.register_full_backward_hook((_, gradInput, gradOutput) => void seen.push(gradInput, values(gradOutput[0])));
    fc(torch.ones([1, 2]))
      .sum()
      .backward();
    expect(seen).toEqual([[null], [[1]]]);
  });

  test("hooks around state_dict", () => {
    const m = new nn.Linear(1, 1, { bias: false });
    const seen: string[] = [];
    m.register_state_dict_pre_hook((_, prefix) => void seen.push(`pre ${prefix}`));
    m.register_state_dict_post_hook((_, sd) => {
      sd.added = torch.ones([1]);
    });
    m.register_load_state_dict_pre_hook((_, sd) => {
      delete sd.added;
    });
    m.register_load_state_dict_post_hook((_, keys) => void seen.push(`post ${keys.missing_keys.length}`));
    const sd = m.state_dict();
    expect(Object.keys(sd)).toEqual(["weight", "added"]);
    m.load_state_dict(sd);
    expect(seen).toEqual(["pre ", "post 0"]);
    expect("added" in sd).toBe(true);
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
