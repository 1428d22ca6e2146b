/** @file GradScaler: multiplies the loss so that small gradients of 16-bit floats do not vanish. */
import { functional } from "../api/index.js";
import { no_grad } from "../autograd/index.js";
import { hostNumber, untraced } from "../dispatch/index.js";
import { float16, float32, float64, int32, TorchError, TorchValueError, type Scalar } from "../schema/index.js";
import { Tensor, type Device } from "../tensor/index.js";

/** Operators without a function in the public namespace. */
interface AmpOperators {
  _amp_foreach_non_finite_check_and_unscale_(self: readonly Tensor[], found_inf: Tensor, inv_scale: Tensor): void;
  _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    growth: Scalar,
    backoff: Scalar,
    growth_interval: number,
  ): void;
}
const amp = functional as unknown as AmpOperators;

/** What a scaler needs of an optimizer. */
export interface ScalableOptimizer {
  readonly param_groups: readonly { readonly params: readonly Tensor[] }[];
  grad_scale?: Tensor | null;
  found_inf?: Tensor | null;
  /** Whether its step reads grad_scale and found_inf. */
  readonly _step_supports_amp_scaling?: boolean;
  step(): unknown;
}

export interface GradScalerOptions {
  /** The scale to begin with. Default 65536. */
  init_scale?: number;
  /** What the scale grows by after `growth_interval` steps without overflow. Default 2. */
  growth_factor?: number;
  /** What the scale is multiplied with after an overflow. Default 0.5. */
  backoff_factor?: number;
  /** Default 2000. */
  growth_interval?: number;
  /** Whether anything is scaled. Default true. */
  enabled?: boolean;
}

/** The layout of PyTorch's `GradScaler.state_dict()`. */
export interface GradScalerState {
  scale: number;
  growth_factor: number;
  backoff_factor: number;
  growth_interval: number;
  _growth_tracker: number;
}

interface PerOptimizer {
  stage: "ready" | "unscaled" | "stepped";
  found: ReadonlyMap<Device, Tensor>;
}

type Outputs = Tensor | readonly Outputs[];

const scalar = (value: number, dtype: typeof float32, device: Device): Tensor =>
  functional.full([], value, { dtype, device });

/**
 * Scales losses, unscales gradients, skips steps whose gradients overflowed, and adapts the scale.
 * @example
 * const scaler = new torch.amp.GradScaler("tpu");
 * scaler.scale(loss).backward();
 * scaler.step(optimizer);
 * scaler.update();
 * @see https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
 */
export class GradScaler {
  private readonly enabled: boolean;
  private initScale: number;
  private growthFactor: number;
  private backoffFactor: number;
  private growthInterval: number;
  private initTracker = 0;
  private scaleTensor: Tensor | null = null;
  private tracker: Tensor | null = null;
  private states = new Map<ScalableOptimizer, PerOptimizer>();

  constructor(
    private readonly device = "tpu",
    options: GradScalerOptions = {},
  ) {
    this.enabled = options.enabled ?? true;
    this.initScale = options.init_scale ?? 2 ** 16;
    this.growthFactor = options.growth_factor ?? 2;
    this.backoffFactor = options.backoff_factor ?? 0.5;
    this.growthInterval = options.growth_interval ?? 2000;
    if (!this.enabled) return;
    if (this.growthFactor <= 1) throw new TorchError("The growth factor must be > 1.0.");
    if (this.backoffFactor >= 1) throw new TorchError("The backoff factor must be < 1.0.");
  }

  private need(name: string): { scale: Tensor; tracker: Tensor } {
    if (this.scaleTensor === null || this.tracker === null)
      throw new TorchError(
        `Attempted ${name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.`,
      );
    return { scale: this.scaleTensor, tracker: this.tracker };
  }

  private stateOf(optimizer: ScalableOptimizer): PerOptimizer {
    let state = this.states.get(optimizer);
    if (!state) this.states.set(optimizer, (state = { stage: "ready", found: new Map() }));
    return state;
  }

  /** The loss, or each tensor of a list, times the scale. */
  scale<O extends Outputs>(outputs: O): O {
    if (!this.enabled) return outputs;
    const one = (x: Outputs): Outputs => {
      if (Array.isArray(x)) return (x as readonly Outputs[]).map(one);
      if (!(x instanceof Tensor)) throw new TorchValueError("outputs must be a Tensor or an iterable of Tensors");
      if (this.scaleTensor === null) {
        this.scaleTensor = untraced(() => scalar(this.initScale, float32, x.device));
        this.tracker = untraced(() => scalar(this.initTracker, int32, x.device));
      }
      return functional.mul(x, this.scaleTensor.to(x.device));
    };
    return one(outputs) as O;
  }

  /** Multiplies the gradients, and notes by device whether any was infinite or NaN: one program for each device. */
  private unscaleGrads(optimizer: ScalableOptimizer, inverse: Tensor, allowFp16: boolean): Map<Device, Tensor> {
    const byDevice = new Map<Device, Tensor[]>();
    for (const { params } of optimizer.param_groups) {
      for (const p of params) {
        if (!p.grad) continue;
        if (!allowFp16 && p.grad.dtype === float16) throw new TorchValueError("Attempting to unscale FP16 gradients.");
        const list = byDevice.get(p.grad.device);
        if (list) list.push(p.grad);
        else byDevice.set(p.grad.device, [p.grad]);
      }
    }
    const found = new Map<Device, Tensor>();
    no_grad(() => {
      for (const [device, grads] of byDevice) {
        const flag = scalar(0, float32, device);
        amp._amp_foreach_non_finite_check_and_unscale_(grads, flag, inverse.to(device));
        found.set(device, flag);
      }
    });
    return found;
  }

  /** Divides the gradients by the scale, for code that clips or reads them before the step. */
  unscale_(optimizer: ScalableOptimizer): void {
    if (!this.enabled) return;
    const { scale } = this.need("unscale_");
    const state = this.stateOf(optimizer);
    if (state.stage === "unscaled")
      throw new TorchError("unscale_() has already been called on this optimizer since the last update().");
    if (state.stage === "stepped") throw new TorchError("unscale_() is being called after step().");
    const inverse = functional.reciprocal(scale.to(float64)).to(float32);
    state.found = this.unscaleGrads(optimizer, inverse, false);
    state.stage = "unscaled";
  }

  /**
   * Unscales the gradients unless unscale_ did, and steps unless one overflowed. Optimizers whose step reads the scale
   * decide on the device; for others the host waits for the gradients. Returns what the optimizer's step returns.
   */
  step(optimizer: ScalableOptimizer, ...args: unknown[]): unknown {
    const run = optimizer.step.bind(optimizer) as (...given: unknown[]) => unknown;
    if (!this.enabled) return run(...args);
    if (args.some((a) => typeof a === "function"))
      throw new TorchError("Closure use is not currently supported if GradScaler is enabled.");
    const { scale } = this.need("step");
    const state = this.stateOf(optimizer);
    if (state.stage === "stepped") throw new TorchError("step() has already been called since the last update().");
    if (optimizer._step_supports_amp_scaling) return this.scaledStep(optimizer, state, scale, () => run(...args));
    if (state.stage === "ready") this.unscale_(optimizer);
    if (state.found.size === 0) throw new TorchError("No inf checks were recorded for this optimizer.");
    const overflowed = [...state.found.values()].some((f) => f.item() !== 0);
    const result = overflowed ? null : run(...args);
    state.stage = "stepped";
    return result;
  }

  private scaledStep(optimizer: ScalableOptimizer, state: PerOptimizer, scale: Tensor, run: () => unknown): unknown {
    if (state.stage === "ready") state.found = this.unscaleGrads(optimizer, scalar(1, float32, scale.device), true);
    const found = [...state.found.values()].map((f) => f.to(scale.device));
    if (state.stage === "ready") optimizer.grad_scale = scale;
    optimizer.found_inf = found.length === 0 ? null : found.reduce((a, b) => functional.add(a, b));
    try {
      return run();
    } finally {
      state.stage = "stepped";
      optimizer.grad_scale = optimizer.found_inf = null;
    }
  }

  /** Adapts the scale after the steps of all optimizers, or sets it. */
  update(new_scale: number | Tensor | null = null): void {
    if (!this.enabled) return;
    const { scale, tracker } = this.need("update");
    no_grad(() => {
      if (typeof new_scale === "number") scale.fill_(new_scale);
      else if (new_scale !== null) this.setScale(scale, new_scale);
      else {
        const found = [...this.states.values()].flatMap((s) => [...s.found.values()].map((f) => f.to(scale.device)));
        if (found.length === 0) throw new TorchError("No inf checks were recorded prior to update.");
        const any = found.reduce((a, b) => functional.add(a, b));
        const growth = hostNumber(() => this.growthFactor, this, "growthFactor");
        const backoff = hostNumber(() => this.backoffFactor, this, "backoffFactor");
        amp._amp_update_scale_(scale, tracker, any, growth, backoff, this.growthInterval);
      }
    });
    this.states = new Map();
  }

  private setScale(scale: Tensor, to: Tensor): void {
    if (to.device.type !== this.device || to.numel() !== 1 || to.requires_grad)
      throw new TorchError(
        "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False.",
      );
    scale.copy_(to.reshape([]));
  }

  /** The scale now; waits for the device. 1 while disabled. */
  get_scale(): number {
    if (!this.enabled) return 1;
    return this.scaleTensor === null ? this.initScale : (this.scaleTensor.item() as number);
  }
  get_growth_factor(): number {
    return this.growthFactor;
  }
  set_growth_factor(to: number): void {
    this.growthFactor = to;
  }
  get_backoff_factor(): number {
    return this.backoffFactor;
  }
  set_backoff_factor(to: number): void {
    this.backoffFactor = to;
  }
  get_growth_interval(): number {
    return this.growthInterval;
  }
  set_growth_interval(to: number): void {
    this.growthInterval = to;
  }
  is_enabled(): boolean {
    return this.enabled;
  }

  private growthTracker(): number {
    return this.tracker === null ? this.initTracker : Number(this.tracker.item());
  }

  /** What load_state_dict takes, here or in PyTorch; empty while disabled. */
  state_dict(): GradScalerState | Record<string, never> {
    if (!this.enabled) return {};
    return {
      scale: this.get_scale(),
      growth_factor: this.growthFactor,
      backoff_factor: this.backoffFactor,
      growth_interval: this.growthInterval,
      _growth_tracker: this.growthTracker(),
    };
  }

  load_state_dict(state: GradScalerState | Record<string, never>): void {
    if (!this.enabled) return;
    if (Object.keys(state).length === 0)
      throw new TorchError(
        "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
      );
    this.initScale = state.scale;
    this.growthFactor = state.growth_factor;
    this.backoffFactor = state.backoff_factor;
    this.growthInterval = state.growth_interval;
    this.initTracker = state._growth_tracker;
    this.scaleTensor?.fill_(this.initScale);
    this.tracker?.fill_(this.initTracker);
  }
}
