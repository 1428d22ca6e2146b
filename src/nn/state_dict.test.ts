/** @file Saving and loading of state. Texts are PyTorch 2.13's. */
import { describe, expect, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import type { Tensor } from "torch-tpu";
import { Net, values } from "./testing/net.js";

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
