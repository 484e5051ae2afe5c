import { InvalidArgumentError, Option } from 'commander';
import { isId } from '../../platform/base/ids/ids.ts';

/** Parses a positive number. */
export function countOf(value: string): number {
  const count = /^\d{1,6}$/.test(value) ? Number(value) : NaN;
  if (!(count > 0)) throw new InvalidArgumentError('It must be a positive number.');
  return count;
}

/** Parses the id of an account. */
export function accountIdOf(value: string): string {
  if (!isId(value)) throw new InvalidArgumentError('It must be the id of an account.');
  return value;
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Parses a time such as `90d`, `12h`, `30m` or `45s`. @returns seconds */
export function secondsOf(value: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,6})([smhd])$/.exec(value) ?? [];
  if (!count) throw new InvalidArgumentError('It must be a time such as 90d, 12h, 30m or 45s.');
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

/** Parses an instant: ISO 8601, or a time ago such as `2h`. */
export function instantOf(value: string): Date {
  if (/^[1-9]\d{0,6}[smhd]$/.test(value)) return new Date(Date.now() - secondsOf(value) * 1000);
  const instant = new Date(/^\d{4}-\d\d-\d\d/.test(value) ? value : NaN);
  if (Number.isNaN(instant.getTime()))
    throw new InvalidArgumentError(
      'It must be a time such as 2026-12-01, 2026-12-01T08:00:00Z or 2h.',
    );
  return instant;
}

/** Parses an instant: `2h` for two hours ago, or a time with its zone in ISO 8601. */
export function momentOf(value: string): Date {
  if (/^\d+[smhd]$/.test(value)) return new Date(Date.now() - secondsOf(value) * 1_000);
  const zoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value);
  const at = new Date(zoned ? value : Number.NaN);
  if (Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('It must be a time such as 2h, 3d or 2026-11-24T09:00Z.');
  return at;
}

/** `--limit <n>`, 50 by default. */
export const limitOption = (): Option =>
  new Option('--limit <n>', 'maximum number of entries').argParser(countOf).default(50);

/** `--page-token <token>`, from the page before. */
export const pageTokenOption = (): Option =>
  new Option('--page-token <token>', 'next_page_token of the page before, with the same filters');

/** `--all`: every page. */
export const allOption = (): Option =>
  new Option('--all', 'all pages of a list, printed as they arrive; --limit is the page size');

/** `--reason <words>`, shown to users. */
export const reasonOption = (): Option =>
  new Option('--reason <words>', 'your words; users see them in the state of their messages');

/** An example below the help of a command: arguments of `addHelpText`. */
export const example = (line: string) => ['after', `\nExample:\n  carillon ${line}`] as const;

/** Headings of options in the help of a command: arguments of `optionsGroup`. */
export const FILTERS = 'Filters:';
export const OPTIONS = 'Options:';
