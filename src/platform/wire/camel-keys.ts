type CamelCase<K> = K extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : K;

/** An object with its keys in camelCase; what is inside of it stays as it is. */
export type CamelKeys<T> = { [K in keyof T as CamelCase<K>]: T[K] };

/** The fields of a request by the names that services have for them. */
export function camelKeys<T extends object>(body: T): CamelKeys<T> {
  const camel = (key: string) =>
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [camel(key), value]),
  ) as CamelKeys<T>;
}
