type CamelCase<K> = K extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : K;

/** An object with its keys in camelCase. Nested objects are unchanged. */
export type CamelKeys<T> = { [K in keyof T as CamelCase<K>]: T[K] };

/** Renames the fields of a request to camelCase, as services expect them. */
export function camelKeys<T extends object>(body: T): CamelKeys<T> {
  const camel = (key: string) =>
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [camel(key), value]),
  ) as CamelKeys<T>;
}
