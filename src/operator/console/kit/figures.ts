/** A whole number with thin groups, such as `12,345`. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size in decimal units, such as `1.4 GB`. */
export function size(bytes: number): string {
  const step = Math.min(
    SIZES.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(bytes))) / 3)),
  );
  const amount = bytes / 1000 ** step;
  return `${step > 0 && Math.abs(amount) < 10 ? amount.toFixed(1) : Math.round(amount)} ${SIZES[step]}`;
}

/** A number with its noun, such as `1 job` or `1,200 jobs`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
