import type { MirrorEvent } from '../../calendar/events/mirror/event-mirror.ts';
import { groupOf, rowFinder } from '../../calendar/events/mirror/event-plan.ts';
import type {
  EventChanges,
  ExcludedInstance,
  RemoteEvent,
} from '../../providers/port/connector.ts';

/* Compares a page of a provider's changes with the rows of the mirror. Pure functions. */

export type EventPage = Pick<
  EventChanges,
  'events' | 'excluded' | 'partial' | 'removed' | 'read' | 'unread'
>;

/** What a page says about the events of a calendar. */
export interface ComparedPage {
  /** Events that the mirror does not have. */
  fresh: RemoteEvent[];
  known: { row: MirrorEvent; remote: RemoteEvent }[];
  /** Excluded starts that have no row in the mirror. */
  freshExcluded: ExcludedInstance[];
  knownExcluded: { row: MirrorEvent; excluded: ExcludedInstance }[];
  /** Rows that the provider no longer has: deleted events, and instances without changes. */
  gone: MirrorEvent[];
}

/** Whether a page reports nothing. A list of all events is always compared with the mirror. */
export const isEmpty = ({ events, excluded = [], removed, present }: EventChanges): boolean =>
  events.length + excluded.length + removed.length === 0 && present === null;

/** Provider ids of the series and single events that a page concerns. */
export function groupsOf({ events, excluded = [], removed }: EventPage): string[] {
  return [...new Set([...events.map(groupOf), ...excluded.map(groupOf), ...removed])];
}

/** Provider ids of everything that a page reports. */
export function idsReported({ events, excluded = [], removed }: EventPage): string[] {
  const reported = [...events, ...excluded].map(({ providerId }) => providerId);
  return [...new Set([...reported, ...removed])];
}

/** @param rows all rows of `groupsOf` and `idsReported` */
export function comparePage(page: EventPage, rows: readonly MirrorEvent[]): ComparedPage {
  const rowOf = rowFinder(rows);
  const [known, fresh] = matched(page.events, rowOf);
  const [knownExcluded, freshExcluded] = matched(page.excluded ?? [], rowOf);
  const reported = new Set([...known, ...knownExcluded].map(({ row }) => row));
  const isGone = page.partial ? goneFromPartial(page) : goneFromWhole(page);
  return {
    fresh,
    known: known.map(({ row, remote }) => ({ row, remote })),
    freshExcluded,
    knownExcluded: knownExcluded.map(({ row, remote }) => ({ row, excluded: remote })),
    gone: rows.filter((row) => !reported.has(row) && isGone(row)),
  };
}

function matched<Remote extends ExcludedInstance | RemoteEvent>(
  remotes: readonly Remote[],
  rowOf: (remote: Remote) => MirrorEvent | undefined,
): [known: { row: MirrorEvent; remote: Remote }[], fresh: Remote[]] {
  const known: { row: MirrorEvent; remote: Remote }[] = [];
  const fresh: Remote[] = [];
  for (const remote of remotes) {
    const row = rowOf(remote);
    if (row) known.push({ row, remote });
    else fresh.push(remote);
  }
  return [known, fresh];
}

/** The report of a series lists all of its instances. */
function goneFromWhole(page: EventPage): (row: MirrorEvent) => boolean {
  const groups = new Set(groupsOf(page));
  return (row) => groups.has(groupOf(row));
}

/** An instance that is not reported has not changed. */
function goneFromPartial({ removed }: EventPage): (row: MirrorEvent) => boolean {
  const ended = new Set(removed);
  return (row) => ended.has(groupOf(row)) || ended.has(row.providerId ?? '');
}

/**
 * Returns a function that says whether a row must wait for the next sync pass, because it was
 * changed here. If the provider reports parts, a series waits for its instances: their starts are
 * compared with its rules.
 */
export function busyRule(
  rows: readonly MirrorEvent[],
  { requestedAt, changes }: { requestedAt: Date; changes: EventPage },
): (row: MirrorEvent) => boolean {
  const busy = (row: MirrorEvent) => row.writing || row.touchedAt > requestedAt;
  if (!changes.partial) return busy;
  const groups = new Set(rows.filter(busy).map(groupOf));
  return (row) => (row.recurrence ? groups.has(groupOf(row)) : busy(row));
}
