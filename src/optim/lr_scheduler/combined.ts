/** @file Schedules made of schedules. */
import { TorchTypeError, TorchValueError } from "../../schema/index.js";
import { byName, type Ordered } from "../arguments.js";
import type { Optimizer } from "../optimizer.js";
import { LRScheduler, setRate, type SchedulerState } from "./base.js";
import { ReduceLROnPlateau } from "./plateau.js";

/** Throws unless all schedules are for `optimizer` and need nothing but `step()`. */
function checkSchedulers(owner: string, schedulers: readonly LRScheduler[], optimizer: Optimizer | undefined): void {
  schedulers.forEach((s, i) => {
    if (!(s instanceof LRScheduler))
      throw new TorchTypeError(`${owner} at index ${i} should have \`optimizer\` as its attribute.`);
    if (s instanceof ReduceLROnPlateau)
      throw new TorchValueError(
        `${owner} does not support \`ReduceLROnPlateau\` scheduler as it requires additional kwargs to be specified when calling \`step\`, but got one at index ${i} in the given schedulers sequence.`,
      );
    if (s.optimizer !== optimizer)
      throw new TorchValueError(
        `${owner} expects all schedulers to belong to the same optimizer, but got scheduler ${s.constructor.name} at index ${i} has ${s.optimizer.toString()}, which is different from ${optimizer?.constructor.name}.`,
      );
  });
}

/** A schedule whose state holds those of its parts. */
abstract class Combined extends LRScheduler {
  readonly _schedulers: readonly LRScheduler[];
  constructor(schedulers: readonly LRScheduler[], optimizer: Optimizer, last_epoch: number) {
    super(optimizer, null);
    this.last_epoch = last_epoch;
    this._schedulers = schedulers;
  }
  get_lr(): number[] {
    return this.current();
  }
  override state_dict(): SchedulerState {
    const { last_epoch, _last_lr } = this;
    return { last_epoch, _last_lr: [..._last_lr], _schedulers: this._schedulers.map((s) => s.state_dict()) };
  }
  override load_state_dict(state: SchedulerState): void {
    const { _schedulers: parts, ...own } = state;
    super.load_state_dict(own);
    (parts as SchedulerState[]).forEach((s, i) => this._schedulers[i].load_state_dict(s));
  }
}

interface SequentialOptions {
  schedulers: readonly LRScheduler[];
  /** The epoch at which each schedule but the first begins. */
  milestones: readonly number[];
  last_epoch?: number;
}
const sequentialOrder = ["schedulers", "milestones", "last_epoch"] as const;

/**
 * One schedule after the other.
 * @example
 * const warmup = new lr_scheduler.LinearLR(optimizer, { start_factor: 0.1, total_iters: 20 });
 * const decay = new lr_scheduler.ExponentialLR(optimizer, 0.9);
 * const schedule = new lr_scheduler.SequentialLR(optimizer, [warmup, decay], [20]);
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html
 */
export class SequentialLR extends Combined {
  private readonly _milestones: readonly number[];
  constructor(optimizer: Optimizer, ...args: Ordered<SequentialOptions, typeof sequentialOrder>) {
    const o = byName<SequentialOptions>("SequentialLR", sequentialOrder, args, {
      schedulers: undefined,
      milestones: undefined,
      last_epoch: -1,
    });
    const { schedulers, milestones } = o;
    if (schedulers.length < 1)
      throw new TorchValueError("SequentialLR expects at least one scheduler, but got no scheduler.");
    checkSchedulers("SequentialLR", schedulers, optimizer);
    if (milestones.length !== schedulers.length - 1)
      throw new TorchValueError(
        `Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got number of schedulers ${schedulers.length} and the number of milestones to be equal to ${milestones.length}`,
      );
    super(schedulers, optimizer, o.last_epoch + 1);
    this._milestones = milestones;
    // the parts made their first steps when they were constructed: undo them, and let the first one begin
    for (const g of optimizer.param_groups) setRate(g, g.initial_lr as number);
    undoSteps(schedulers);
    const first = schedulers[this.part(0)];
    first._initial_step();
    this._last_lr = first.get_last_lr();
  }
  private part(epoch: number): number {
    return this._milestones.filter((m) => m <= epoch).length;
  }
  override step(): void {
    this.last_epoch++;
    const at = this.part(this.last_epoch);
    const scheduler = this._schedulers[at];
    if (at > 0 && this._milestones[at - 1] === this.last_epoch) scheduler._update_lr(0);
    else scheduler.step();
    this._last_lr = scheduler.get_last_lr();
  }
  override state_dict(): SchedulerState {
    return { ...super.state_dict(), _milestones: [...this._milestones] };
  }
}

function undoSteps(schedulers: readonly LRScheduler[]): void {
  for (const s of schedulers) {
    if (s instanceof Combined) undoSteps(s._schedulers);
    else s.last_epoch--;
  }
}

/**
 * All schedules at once: each changes what the one before has set.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html
 */
export class ChainedScheduler extends Combined {
  constructor(schedulers: readonly LRScheduler[], optimizer?: Optimizer) {
    if (schedulers.length < 1)
      throw new TorchValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
    const of = optimizer ?? schedulers[0].optimizer;
    checkSchedulers("ChainedScheduler", schedulers, of);
    super(schedulers, of, schedulers[0].last_epoch);
    this._last_lr = this.current();
  }
  override step(): void {
    for (const s of this._schedulers) s.step();
    this.last_epoch++;
    this._last_lr = this.current();
  }
}
