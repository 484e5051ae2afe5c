/**
 * The value below which the share `p` (0 to 1) of the values lies, by nearest rank. NaN if there
 * are no values.
 */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

/** The median. NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  const high = sorted[Math.ceil((sorted.length - 1) / 2)] ?? Number.NaN;
  return (low + high) / 2;
}

/** First and third quartile, rounded to hundredths: half of the values lie between them. */
export function quartiles(values: readonly number[]): [number, number] {
  return [round(percentile(values, 0.25)), round(percentile(values, 0.75))];
}

/** Median, 99th percentile and maximum of times in milliseconds, rounded to hundredths. */
export function spread(values: readonly number[]): {
  count: number;
  p50: number;
  p99: number;
  max: number;
} {
  return {
    count: values.length,
    p50: round(percentile(values, 0.5)),
    p99: round(percentile(values, 0.99)),
    max: round(percentile(values, 1)),
  };
}

/** Rounds to `digits` decimals. */
export function round(value: number, digits = 2): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
