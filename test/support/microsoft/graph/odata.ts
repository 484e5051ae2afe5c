import { GraphError, graphErrors, type Json } from '../http/types.ts';
import { order, parseFilter } from './filter.ts';

/** A list as one request sees it. */
export interface Listing {
  /** All items before `$filter`, in the default order. */
  items: Json[];
  /** Properties that are only shown if `$select` names them. */
  onDemand?: ReadonlySet<string>;
  /** Absolute address of the list, without its query. */
  url: string;
  query: URLSearchParams;
  defaultTop?: number;
  maxTop?: number;
  /** True if the service refuses sorting by what the filter does not begin with. */
  strictOrder?: boolean;
}

/** Always part of an item, whatever `$select` names. */
const ALWAYS = new Set([
  'id',
  '@odata.type',
  '@odata.etag',
  '@removed',
  'singleValueExtendedProperties',
]);

/** An item with the properties that `$select` names. */
export function selected(item: Json, query: URLSearchParams, onDemand?: ReadonlySet<string>): Json {
  const select = query.get('$select');
  const names = new Set(select?.split(',').map((name) => name.trim()));
  if (select === null || names.has('*')) {
    return onDemand ? pick(item, (name) => !onDemand.has(name)) : item;
  }
  return pick(item, (name) => ALWAYS.has(name) || names.has(name));
}

const pick = (item: Json, keep: (name: string) => boolean): Json =>
  Object.fromEntries(Object.entries(item).filter(([name]) => keep(name)));

/**
 * A page of a list: `$filter`, `$orderby`, `$skip`, `$top`, `$count` and `$select` applied, with
 * the address of the next page.
 */
export function page(listing: Listing): Json {
  const { query, url, onDemand } = listing;
  const matching = sorted(filtered(listing.items, query), query, listing.strictOrder ?? false);
  const skip = integer(query, '$skip') ?? 0;
  const top = Math.min(integer(query, '$top') ?? listing.defaultTop ?? 10, listing.maxTop ?? 1_000);
  const shown = matching.slice(skip, skip + top);
  return {
    ...(query.get('$count') === 'true' ? { '@odata.count': matching.length } : {}),
    value: shown.map((item) => selected(item, query, onDemand)),
    ...(skip + top < matching.length
      ? { '@odata.nextLink': withQuery(url, query, { $skip: String(skip + top) }) }
      : {}),
  };
}

/** An address with a changed query. `null` removes a parameter. */
export function withQuery(
  url: string,
  query: URLSearchParams,
  changes: Record<string, string | null>,
): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return `${url}?${next.toString().replaceAll('%24', '$')}`;
}

/**
 * A parameter that is a number.
 * @throws {GraphError} 400 if it is not a number from 0
 */
export function integer(query: URLSearchParams, name: string): number | null {
  const value = query.get(name);
  if (value === null) return null;
  if (!/^\d+$/.test(value)) {
    throw graphErrors.badRequest(`Invalid value '${value}' for ${name} query option found.`);
  }
  return Number(value);
}

/** The items that match `$filter`. */
export function filtered(items: Json[], query: URLSearchParams): Json[] {
  const filter = query.get('$filter');
  return filter === null ? items : items.filter(parseFilter(filter).matches);
}

function sorted(items: Json[], query: URLSearchParams, strict: boolean): Json[] {
  const text = query.get('$orderby');
  if (text === null) return items;
  const keys = text.split(',').map((part) => {
    const [path = '', direction = 'asc'] = part.trim().split(/\s+/);
    return { path: path.split('/'), sign: direction.toLowerCase() === 'desc' ? -1 : 1 };
  });
  const filter = query.get('$filter');
  if (strict && filter !== null) assertEfficient(filter, keys);
  return items.toSorted((a, b) => {
    for (const { path, sign } of keys) {
      const difference = order(at(a, path), at(b, path)) * sign;
      if (difference !== 0) return difference;
    }
    return 0;
  });
}

/** Exchange sorts a filtered list only by the properties that the filter begins with. */
function assertEfficient(filter: string, keys: { path: string[] }[]): void {
  const { properties } = parseFilter(filter);
  const begins = keys.every(({ path }, index) => properties[index] === path.join('/'));
  if (!begins) {
    throw new GraphError(
      400,
      'InefficientFilter',
      'The restriction or sort order is too complex for this operation.',
    );
  }
}

const at = (item: Json, path: string[]): unknown => {
  let value: unknown = item;
  for (const part of path) value = (value as Json | null | undefined)?.[part];
  return value;
};
