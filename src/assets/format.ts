/** @file How sizes are printed. */

/** "62.7 MB". Decimal units, as package indexes print them. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  const exponent = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  const value = bytes / 1000 ** exponent;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(value < 100 ? 1 : 0)} ${units[exponent - 1]}`;
}
