import type { Json } from '../http/types.ts';

/** Named extended properties of an item, as requests write them. */
export type ExtendedProperties = { id: string; value: string }[];

/** The properties after a request that writes some of them. */
export function writeExtended(before: ExtendedProperties, body: Json): ExtendedProperties {
  const written = (body['singleValueExtendedProperties'] ?? []) as ExtendedProperties;
  const names = new Set(written.map(({ id }) => id));
  return [...before.filter(({ id }) => !names.has(id)), ...written];
}

/** An item with the extended properties that `$expand` names, if there are any. */
export function withExtended(
  item: Json,
  properties: ExtendedProperties,
  query: URLSearchParams,
): Json {
  const expand = query.get('$expand') ?? '';
  if (!expand.startsWith('singleValueExtendedProperties(')) return item;
  const shown = properties.filter(({ id }) => expand.includes(`id eq '${id}'`));
  return shown.length === 0 ? item : { ...item, singleValueExtendedProperties: shown };
}

const FILTER =
  /^singleValueExtendedProperties\/Any\(ep: ep\/id eq '([^']+)' and ep\/value eq '([^']*)'\)$/;

/**
 * The test of a `$filter` that asks for an extended property; null for another filter. Exchange
 * combines it with no other condition.
 */
export function extendedFilter(
  query: URLSearchParams,
): ((properties: ExtendedProperties) => boolean) | null {
  const [, name, wanted] = FILTER.exec(query.get('$filter') ?? '') ?? [];
  if (name === undefined) return null;
  return (properties) => properties.some(({ id, value }) => id === name && value === wanted);
}
