/** @file Tensors as text, exactly as PyTorch prints them (`torch.set_printoptions`). */
import type { Complex } from "../schema/index.js";
import { get_default_dtype, int64, bool, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { nest, readElement, typedView, type HostValue, type NestedArray } from "../tensor/index.js";
import { torchFunctions } from "../ops/torch_ref.js";

export interface PrintOptions {
  /** Digits after the point. */
  precision: number;
  /** Tensors with more elements are shortened. */
  threshold: number;
  /** Elements at each end of a shortened dimension. */
  edgeitems: number;
  /** Characters of a line. */
  linewidth: number;
  /** Scientific notation always, never, or (null) where numbers are far apart. */
  sci_mode: boolean | null;
}

const options: PrintOptions = { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: null };

const profiles: Record<string, Partial<PrintOptions>> = {
  default: { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: null },
  short: { precision: 2, threshold: 1000, edgeitems: 2, linewidth: 80, sci_mode: null },
  full: { precision: 4, threshold: Infinity, edgeitems: 3, linewidth: 80, sci_mode: null },
};

/** Changes how tensors are printed. As in PyTorch, a call without `sci_mode` makes the notation automatic again. */
export function set_printoptions(change: Partial<PrintOptions> & { profile?: "default" | "short" | "full" }): void {
  const { profile, sci_mode = null, ...rest } = change;
  Object.assign(options, profile ? profiles[profile] : {}, rest, { sci_mode });
}

/** Digits beyond those printed that show whether a number lies halfway between two printed ones. */
const moreDigits = 40;

/**
 * Python rounds exact ties to the even digit where JavaScript rounds them up. `short` is JavaScript's rounding, `long` the
 * same number with more digits; both end in digits.
 */
function evenAtTies(short: string, long: string): string {
  const tail = long.slice(short.length);
  if (!/^\.?50*$/.test(tail)) return short;
  const down = long.slice(0, short.length);
  return Number(down[down.length - 1]) % 2 === 0 ? down : short;
}

/** Python's `{:.pf}`. */
function fixed(x: number, precision: number): string {
  if (!Number.isFinite(x)) return python(x);
  if (Math.abs(x) >= 1e21) return BigInt(x).toString() + (precision > 0 ? `.${"0".repeat(precision)}` : "");
  return evenAtTies(x.toFixed(precision), x.toFixed(Math.min(100, precision + moreDigits)));
}

/** Python's `{:.pe}`: the exponent has two digits. */
function scientific(x: number, precision: number): string {
  if (!Number.isFinite(x)) return python(x);
  const [short, exponent] = x.toExponential(precision).split("e");
  const [long, sameExponent] = x.toExponential(Math.min(100, precision + moreDigits)).split("e");
  const digits = exponent === sameExponent ? evenAtTies(short, long) : short;
  return `${digits}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}

const python = (x: number): string => (Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf");

/** One width and one notation for all elements. */
class Formatter {
  private readonly isFloat: boolean;
  private integers = true;
  private scientific = false;
  width = 1;

  constructor(values: readonly HostValue[], dtype: DType) {
    this.isFloat = dtype.is_floating_point;
    if (!this.isFloat) {
      for (const v of values) this.width = Math.max(this.width, text(v).length);
      return;
    }
    const finite = (values as readonly number[]).filter((v) => Number.isFinite(v) && v !== 0);
    if (finite.length === 0) return;
    const sizes = finite.map(Math.abs);
    const max = sizes.reduce((a, b) => Math.max(a, b));
    const min = sizes.reduce((a, b) => Math.min(a, b));
    this.integers = finite.every((v) => Number.isInteger(v));
    this.scientific = options.sci_mode ?? (max / min > 1000 || max > 1e8 || (!this.integers && min < 1e-4));
    const { precision } = options;
    for (const v of finite) {
      const length = this.scientific
        ? scientific(v, precision).length
        : this.integers
          ? fixed(v, 0).length + 1
          : fixed(v, precision).length;
      this.width = Math.max(this.width, length);
    }
  }

  format(v: HostValue): string {
    let out: string;
    if (!this.isFloat) out = text(v);
    else if (this.scientific) out = scientific(v as number, options.precision);
    else if (this.integers) out = fixed(v as number, 0) + (Number.isFinite(v as number) ? "." : "");
    else out = fixed(v as number, options.precision);
    if (this.isFloat && Object.is(v, -0) && !out.startsWith("-")) out = `-${out}`;
    return out.padStart(this.width);
  }
}

const text = (v: HostValue): string => (typeof v === "boolean" ? (v ? "True" : "False") : String(v));

type Format = (v: HostValue) => string;

/** The formatter of a tensor's elements and the width of one of them. */
function formatOf(values: readonly HostValue[], dtype: DType): { format: Format; width: number } {
  if (!dtype.is_complex) {
    const f = new Formatter(values, dtype);
    return { format: (v) => f.format(v), width: f.width };
  }
  const parts = values as readonly Complex[];
  const re = new Formatter(
    parts.map((c) => c.re),
    dtype.to_real(),
  );
  const im = new Formatter(
    parts.map((c) => c.im),
    dtype.to_real(),
  );
  const format = (v: HostValue): string => {
    const c = v as Complex;
    const imaginary = `${im.format(c.im)}j`.trimStart();
    return re.format(c.re) + (/^[+-]/.test(imaginary) ? "" : "+") + imaginary;
  };
  return { format, width: re.width + im.width + 1 };
}

/** Marks the elements that a shortened dimension leaves out. */
const gap = Symbol("gap");
type Shown = HostValue | typeof gap | readonly Shown[];

function vectorText(items: readonly Shown[], indent: number, format: Format, width: number): string {
  const perLine = Math.max(1, Math.floor((options.linewidth - indent) / (width + 2)));
  const ellipsis = options.edgeitems === 0 ? "..." : " ...";
  const cells = items.map((v) => (v === gap ? ellipsis : format(v as HostValue)));
  const lines: string[] = [];
  for (let i = 0; i < cells.length; i += perLine) lines.push(cells.slice(i, i + perLine).join(", "));
  return `[${lines.join(`,\n${" ".repeat(indent + 1)}`)}]`;
}

function nestedText(items: Shown, dim: number, indent: number, format: Format, width: number): string {
  if (dim === 0) return format(items as HostValue);
  if (dim === 1) return vectorText(items as readonly Shown[], indent, format, width);
  const rows = (items as readonly Shown[]).map((v) =>
    v === gap ? "..." : nestedText(v, dim - 1, indent + 1, format, width),
  );
  return `[${rows.join(`,${"\n".repeat(dim - 1)}${" ".repeat(indent + 1)}`)}]`;
}

/** The ends of every long dimension. */
function edgesOf(t: Tensor): Tensor {
  const torch = torchFunctions();
  const { edgeitems } = options;
  let out = t;
  t.shape.forEach((n, d) => {
    if (n > 2 * edgeitems) out = torch.cat([out.narrow(d, 0, edgeitems), out.narrow(d, n - edgeitems, edgeitems)], d);
  });
  return out;
}

function withGaps(items: NestedArray<HostValue>, shape: readonly number[]): Shown {
  if (shape.length === 0) return items as HostValue;
  const rows = (items as readonly NestedArray<HostValue>[]).map((r) => withGaps(r, shape.slice(1)));
  const { edgeitems } = options;
  return shape[0] > 2 * edgeitems ? [...rows.slice(0, edgeitems), gap, ...rows.slice(edgeitems)] : rows;
}

function valuesOf(t: Tensor): HostValue[] {
  const view = typedView(t.toBytes(), t.dtype);
  return Array.from({ length: t.numel() }, (_, i) => readElement(view as never, i, t.dtype));
}

function elementsText(t: Tensor, indent: number): string {
  if (t.numel() === 0) return "[]";
  const shortened = t.numel() > options.threshold;
  const shown = shortened ? edgesOf(t) : t;
  const values = valuesOf(shown);
  const { format, width } = formatOf(values, t.dtype);
  const nested = nest(values, shown.shape);
  return nestedText(shortened ? withGaps(nested, t.shape) : (nested as Shown), t.ndim, indent, format, width);
}

function suffixesOf(t: Tensor): string[] {
  const suffixes: string[] = [];
  if (t.device.type !== "cpu") suffixes.push(`device='${t.device.toString()}'`);
  const isEmpty = t.numel() === 0;
  if (t.is_meta || (isEmpty ? t.ndim !== 1 : options.edgeitems === 0)) suffixes.push(`size=(${tupleText(t.shape)})`);
  const implied = [get_default_dtype(), get_default_dtype().to_complex(), int64, bool];
  // without elements nothing tells integers and booleans from floats
  const isImplied = t.is_meta || isEmpty ? t.dtype === get_default_dtype() : implied.includes(t.dtype);
  if (!isImplied) suffixes.push(`dtype=${t.dtype.toString()}`);
  if (t.grad_fn) suffixes.push(`grad_fn=${t.grad_fn.toString()}`);
  else if (t.requires_grad) suffixes.push("requires_grad=True");
  return suffixes;
}

const tupleText = (shape: readonly number[]): string => (shape.length === 1 ? `${shape[0]},` : shape.join(", "));

/** `tensor([1., 2.])` */
export function formatTensor(t: Tensor): string {
  const prefix = "tensor(";
  if (t.storageRef.traced !== null)
    return `tensor(..., size=(${tupleText(t.shape)}), dtype=${t.dtype.toString()}, traced)`;
  const body = prefix + (t.is_meta ? "..." : elementsText(t.detach(), prefix.length));
  let lineLength = body.length - body.lastIndexOf("\n") + 1;
  let out = body;
  for (const suffix of suffixesOf(t)) {
    if (lineLength + suffix.length + 2 > options.linewidth) {
      out += `,\n${" ".repeat(prefix.length)}${suffix}`;
      lineLength = prefix.length + suffix.length;
    } else {
      out += `, ${suffix}`;
      lineLength += suffix.length + 2;
    }
  }
  return `${out})`;
}
