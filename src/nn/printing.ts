/** @file The printed form of modules, as PyTorch's. */

/** Every line but the first moved to the right by two. */
export const indent = (text: string): string => text.split("\n").join("\n  ");

/** `Name(extra)` on one line, or with a line for every part. */
export function printed(name: string, extraLines: readonly string[], childLines: readonly string[]): string {
  const lines = [...extraLines, ...childLines];
  if (lines.length === 0) return `${name}()`;
  if (extraLines.length === 1 && childLines.length === 0) return `${name}(${extraLines[0]})`;
  return `${name}(\n  ${lines.join("\n  ")}\n)`;
}

/** A value as Python prints it: True, None, (3, 3), 'mean'. */
export function pythonText(x: unknown): string {
  if (x === null || x === undefined) return "None";
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x === "string") return `'${x}'`;
  if (Array.isArray(x)) return x.length === 1 ? `(${pythonText(x[0])},)` : `(${x.map(pythonText).join(", ")})`;
  if (typeof x === "number") return numberText(x);
  return String(x);
}

/** A number as Python prints it: 1e-05 where JavaScript says 0.00001. */
function numberText(x: number): string {
  if (x === Infinity || x === -Infinity) return x > 0 ? "inf" : "-inf";
  if (Number.isNaN(x)) return "nan";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [mantissa, exponent] = x.toExponential().split("e");
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return String(x);
}

/** A number that is a float in Python: 1.0 where JavaScript says 1. */
export const floatText = (x: number): string => (Number.isInteger(x) && Math.abs(x) < 1e16 ? `${x}.0` : pythonText(x));
