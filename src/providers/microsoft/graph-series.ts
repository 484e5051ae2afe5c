import { isDeepStrictEqual } from 'node:util';
import type { ProviderAccount } from '../port/connector.ts';
import { type GraphEvent, type GraphFields, readEvent, writeEvent } from './graph-event.ts';
import { type GraphEventsApi, pathOf, type SeriesState } from './graph-events-api.ts';
import { differences } from './graph-fields.ts';
import { excludedStarts, type Recurrence, type SeriesStart, seriesStart } from './graph-recurrence.ts'; // prettier-ignore

interface SeriesChange {
  /** The instances as they are. */
  state: SeriesState;
  /** The series as it is. */
  theirs: GraphFields;
  /** The fields that change. */
  write: Partial<GraphFields>;
}

/** What an instance has besides the fields of its series. */
interface ChangedInstance {
  originalMs: number;
  fields: Partial<GraphFields>;
}

const rulesOf = ({ rrule, timezone }: Recurrence) => [
  timezone,
  ...rrule.filter((line) => !/^EXDATE[;:]/i.test(line)),
];

/**
 * The instances of a series when the series changes. Graph has no property for excluded starts:
 * excluded starts are deleted occurrences. Exchange also ends all changes and deletions of
 * instances when the times or the rule of their series change.
 */
export class GraphSeries {
  constructor(private readonly events: GraphEventsApi) {}

  static startOf({ timezone }: Recurrence, when: GraphFields['when']): SeriesStart {
    return seriesStart(when, timezone);
  }

  /** Whether the rule has to be written: another one, or one that no longer excludes a start. */
  static isNewRule(theirs: GraphFields, { recurrence, when }: Partial<GraphFields>): boolean {
    const before = theirs.recurrence;
    if (recurrence === undefined) return false;
    if (!before || !recurrence || !isDeepStrictEqual(rulesOf(before), rulesOf(recurrence)))
      return true;
    if (when && !isDeepStrictEqual(when, theirs.when)) return true;
    const kept = new Set(excludedStarts(recurrence, GraphSeries.startOf(recurrence, theirs.when)));
    const was = excludedStarts(before, GraphSeries.startOf(before, theirs.when));
    return was.some((ms) => !kept.has(ms));
  }

  /**
   * Prepares what has to be done with the instances after a series was written: deletes those that
   * the new recurrence excludes, and repeats the changes that Exchange has ended.
   */
  async plan(
    account: ProviderAccount,
    series: GraphEvent,
    { state, theirs, write }: SeriesChange,
  ): Promise<(written: GraphEvent) => Promise<void>> {
    const { recurrence } = write;
    if (!recurrence) return () => Promise.resolve();
    const when = write.when ?? theirs.when;
    const wanted = excludedStarts(recurrence, GraphSeries.startOf(recurrence, when));
    const resets = series.recurrence !== null && GraphSeries.isNewRule(theirs, write);
    const changed = resets ? await this.#changedInstances(account, theirs, state) : [];
    const there = new Set(resets ? [] : state.excluded);
    const left = wanted.filter((ms) => !there.has(ms));
    return async (written) => {
      for (const ms of left) {
        const found = await this.events.occurrenceAt(account, written, ms);
        if (found) await this.events.remove(account, found.id);
      }
      for (const instance of changed) await this.#repeat(account, written, instance);
    };
  }

  async #changedInstances(
    account: ProviderAccount,
    series: GraphFields,
    { exceptions }: SeriesState,
  ): Promise<ChangedInstance[]> {
    const found: ChangedInstance[] = [];
    for (const { id, originalMs } of exceptions) {
      const event = await this.events.find(account, id);
      const fields = event && readEvent(event);
      if (fields) found.push({ originalMs, fields: differences(series, fields, originalMs) });
    }
    return found.filter(({ fields }) => Object.keys(fields).length > 0);
  }

  async #repeat(
    account: ProviderAccount,
    series: GraphEvent,
    { originalMs, fields }: ChangedInstance,
  ): Promise<void> {
    const found = await this.events.occurrenceAt(account, series, originalMs);
    if (!found || found.isException) return;
    const json = writeEvent(fields, series.attendees ?? []);
    const request = { method: 'PATCH', path: pathOf(found.id), json } as const;
    await this.events.read(account, { ...request, repeatable: true });
  }
}
