/** A whole number with thin groups, such as `12,345`. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in binary units, as `DATABASE_DISK_GB` and `carillon capacity` count: `1.4 GiB`. */
export function size(bytes: number): string {
  const step = Math.min(
    SIZES.length - 1,
    Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10)),
  );
  const amount = bytes / 1024 ** step;
  return `${step > 0 && Math.abs(amount) < 10 ? amount.toFixed(1) : Math.round(amount)} ${SIZES[step]}`;
}

/** A number with its noun, such as `1 job` or `1,200 jobs`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
