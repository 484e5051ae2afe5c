import type { Json } from '../http/types.ts';
import type { DeltaTokens } from './delta-tokens.ts';

/** Items that a delta query reports together: one item, or a series with its instances. */
export interface DeltaGroup {
  /** Changes whenever any item of the group does. */
  fingerprint: string;
  /** Ids of all items, as the answers show them. */
  ids: string[];
  show: () => Json[];
}

interface SnapshotAsk {
  tokens: DeltaTokens;
  list: string;
  url: string;
  query: URLSearchParams;
  pageSize: number;
  /** All groups by a key that stays, as the query of the first request sees them now. */
  groups(query: URLSearchParams): Map<string, DeltaGroup>;
  /** `@odata.type` of removed items. */
  type: string;
  /** True if a removed part of a group that still exists is not reported. */
  hidesRemovedParts?: boolean;
}

type Snapshot = Map<string, { fingerprint: string; ids: string[] }>;
type Entry = { group: DeltaGroup } | { removedId: string };

/** A delta query that compares what there is now with what the round before reported. */
export function snapshotDelta(ask: SnapshotAsk): Json {
  const { tokens, list, url, query, pageSize } = ask;
  return tokens.answer<Entry, Snapshot>({
    list,
    url,
    query,
    pageSize,
    first: () => {
      const groups = ask.groups(query);
      const entries = [...groups.values()].map((group) => ({ group }));
      return { entries, mark: snapshotOf(groups) };
    },
    since: (before, first) => {
      const groups = ask.groups(first);
      return { entries: changes(ask, before, groups), mark: snapshotOf(groups) };
    },
    show: (entry) =>
      'group' in entry
        ? entry.group.show()
        : { '@odata.type': ask.type, id: entry.removedId, '@removed': { reason: 'deleted' } },
  });
}

const snapshotOf = (groups: Map<string, DeltaGroup>): Snapshot =>
  new Map([...groups].map(([key, { fingerprint, ids }]) => [key, { fingerprint, ids }]));

function changes(ask: SnapshotAsk, before: Snapshot, groups: Map<string, DeltaGroup>): Entry[] {
  const entries: Entry[] = [];
  for (const [key, { ids }] of before) {
    const now = groups.get(key);
    if (now && ask.hidesRemovedParts) continue;
    const left = new Set(now?.ids);
    for (const id of ids) if (!left.has(id)) entries.push({ removedId: id });
  }
  for (const [key, group] of groups) {
    if (before.get(key)?.fingerprint !== group.fingerprint) entries.push({ group });
  }
  return entries;
}
