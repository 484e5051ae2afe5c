import { InvalidInputError } from '../base/errors/domain-error.ts';
import type { Conditions } from './conditions.ts';

/** What an application stores with an object: text values by key. */
export type Metadata = Record<string, string>;

/** A search in metadata, with at least one term. */
export interface MetadataFilter {
  /** Whether any, all or none of the terms must match. */
  search: 'any' | 'all' | 'none';
  keys: readonly string[];
  values: readonly string[];
  pairs: readonly { key: string; value: string }[];
}

/** The parsed `metadataQuery` of a list endpoint. */
export interface MetadataQuery {
  metadata_key?: string[] | undefined;
  metadata_value?: string[] | undefined;
  metadata_pair?: string[] | undefined;
  /** The same as `metadata_pair`, as a client spells it. */
  metadata_paire?: string[] | undefined;
  metadata_search?: MetadataFilter['search'] | undefined;
}

const PAIRS = ['metadata_pair', 'metadata_paire'] as const;

/** @throws {InvalidInputError} */
function toPair(name: string, pair: string): MetadataFilter['pairs'][number] {
  const colon = pair.indexOf(':');
  if (colon < 1) throw new InvalidInputError(`${name}: must be of the form key:value`);
  return { key: pair.slice(0, colon), value: pair.slice(colon + 1) };
}

/**
 * Returns the metadata filter of a list endpoint, or `undefined` if the query has none.
 * @throws {InvalidInputError} if a pair is not `key:value`
 */
export function metadataFilter(query: MetadataQuery): MetadataFilter | undefined {
  const {
    metadata_key: keys = [],
    metadata_value: values = [],
    metadata_search: search = 'any',
  } = query;
  const pairs = PAIRS.flatMap((name) => (query[name] ?? []).map((pair) => toPair(name, pair)));
  if (keys.length + values.length + pairs.length === 0) return undefined;
  return { search, keys, values, pairs };
}

/**
 * Adds a metadata search to the conditions of a statement.
 * @param column SQL name of a jsonb column that holds a flat object, for example `m.metadata`.
 *   Its booleans and numbers are compared as text.
 */
export function addMetadataCondition(
  conditions: Conditions,
  column: string,
  filter: MetadataFilter,
): void {
  const keys = `${conditions.value([...new Set(filter.keys)])}::text[]`;
  const values = `${conditions.value([...new Set(filter.values)])}::text[]`;
  const pairKeys = `${conditions.value(filter.pairs.map(({ key }) => key))}::text[]`;
  const pairValues = `${conditions.value(filter.pairs.map(({ value }) => value))}::text[]`;
  if (filter.search === 'all') {
    conditions.add(
      `${column} <> '{}'::jsonb
       and not exists (select 1 from unnest(${keys}) k(key) where ${column} -> k.key is null)
       and not exists (select 1 from unnest(${values}) v(value)
                       where v.value not in (select e.value from jsonb_each_text(${column}) e where e.value is not null))
       and not exists (select 1 from unnest(${pairKeys}, ${pairValues}) p(key, value)
                       where ${column} ->> p.key is distinct from p.value)`,
    );
    return;
  }
  // Most rows have no metadata, and the first comparison skips them at once.
  const some = `${column} <> '{}'::jsonb and exists (select 1 from jsonb_each_text(${column}) e
    where e.key = any(${keys}) or e.value = any(${values})
      or exists (select 1 from unnest(${pairKeys}, ${pairValues}) p(key, value)
                 where p.key = e.key and p.value = e.value))`;
  conditions.add(filter.search === 'none' ? `not (${some})` : some);
}
