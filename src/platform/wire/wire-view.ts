import { toUnixSeconds } from '../base/time/unix-seconds.ts';

type SnakeCase<K extends string> = K extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Lowercase<Head>}${SnakeCase<Tail>}`
    : `${Lowercase<Head>}_${SnakeCase<Tail>}`
  : K;

/** A value as responses show it: names in snake_case, times in Unix seconds. */
export type WireView<T> = T extends Date
  ? number
  : T extends readonly (infer Item)[]
    ? WireView<Item>[]
    : T extends object
      ? { [K in keyof T & string as SnakeCase<K>]: WireView<T[K]> }
      : T;

/** Converts a service's plain data to a response, nested values included. */
export function wireView<T>(value: T): WireView<T> {
  return convert(value) as WireView<T>;
}

function convert(value: unknown): unknown {
  if (value instanceof Date) return toUnixSeconds(value);
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      convert(one),
    ]),
  );
}
