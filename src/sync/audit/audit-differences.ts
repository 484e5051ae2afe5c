import type { ObjectDifferences } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';

/** Differences between a collection and the mirror, by the changes that repaired them. */
export function differencesIn(changes: readonly ChangeRecord[]): ObjectDifferences {
  const events = new Map(changes.map(({ objectId, event }) => [objectId, event]));
  const count = (wanted: ChangeRecord['event']) =>
    [...events.values()].filter((event) => event === wanted).length;
  return { missing: count('create'), surplus: count('delete'), changed: count('modify') };
}
