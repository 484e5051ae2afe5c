import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ProviderAccount, WriteNotes } from '../../port/connector.ts';
import { jsonOf } from '../../port/service-responses.ts';
import { GraphError } from '../graph-error.ts';
import { type GraphEvent, type GraphFields, readEvent, writeEvent } from './graph-event.ts';
import { type GraphEventsApi, pathOf, type SeriesState } from './graph-events-api.ts';
import { differences } from '../graph-fields.ts';
import {
  excludedStarts,
  type Recurrence,
  type SeriesStart,
  seriesStart,
} from './graph-recurrence.ts';

interface SeriesChange {
  /** The instances as they are. */
  state: SeriesState;
  /** The series as it is. */
  theirs: GraphFields;
  /** The fields that change. */
  write: Partial<GraphFields>;
}

/** What an instance has besides the fields of its series. */
export interface ChangedInstance {
  originalMs: number;
  fields: Partial<GraphFields>;
}

/** What to do with the instances of a series after it was written. */
export interface SeriesPlan {
  /** Instances whose changes are repeated. */
  changed: ChangedInstance[];
  /** Starts whose occurrences are deleted, in Unix milliseconds. */
  excluded: number[];
}

const NOTHING: SeriesPlan = { changed: [], excluded: [] };

const noted = z.object({
  version: z.string(),
  changed: z.array(z.object({ originalMs: z.number(), fields: z.record(z.string(), z.unknown()) })),
});

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

  /** Whether two recurrences have the same rule, whatever starts they exclude. */
  static isSameRule(one: Recurrence | null | undefined, other: Recurrence | null): boolean {
    return Boolean(one && other && isDeepStrictEqual(rulesOf(one), rulesOf(other)));
  }

  /** Whether the rule has to be written: another one, or one that no longer excludes a start. */
  static isNewRule(theirs: GraphFields, { recurrence, when }: Partial<GraphFields>): boolean {
    const before = theirs.recurrence;
    if (recurrence === undefined) return false;
    if (!before || !recurrence || !GraphSeries.isSameRule(before, recurrence)) return true;
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
  ): Promise<SeriesPlan> {
    const recurrence = write.recurrence === undefined ? theirs.recurrence : write.recurrence;
    const resets =
      series.recurrence !== null &&
      (write.when !== undefined || GraphSeries.isNewRule(theirs, write));
    if (!recurrence || (!resets && write.recurrence === undefined)) return NOTHING;
    const when = write.when ?? theirs.when;
    const wanted = excludedStarts(recurrence, GraphSeries.startOf(recurrence, when));
    const there = new Set(resets ? [] : state.excluded);
    return {
      changed: resets ? await this.#changedInstances(account, theirs, state) : [],
      excluded: wanted.filter((ms) => !there.has(ms)),
    };
  }

  /**
   * Carries out a plan, after the series was written. An instance that Exchange refuses does not
   * keep the others from being repeated.
   */
  async carryOut(account: ProviderAccount, series: GraphEvent, plan: SeriesPlan): Promise<void> {
    for (const ms of plan.excluded) {
      const found = await this.events.occurrenceAt(account, series, ms);
      if (found) await this.events.remove(account, found.id);
    }
    let refusal: GraphError | null = null;
    for (const instance of plan.changed) {
      try {
        await this.#repeat(account, series, instance);
      } catch (error) {
        if (!(error instanceof GraphError) || error.code !== 'rejected') throw error;
        refusal = error;
      }
    }
    if (refusal) throw refusal;
  }

  /** Stores what a plan needs if the process dies while it is carried out. */
  async note(
    { '@odata.etag': version }: GraphEvent,
    { changed }: SeriesPlan,
    notes: WriteNotes | undefined,
  ): Promise<void> {
    if (changed.length === 0) return;
    await notes?.store(JSON.stringify({ version: version ?? '', changed }));
  }

  /**
   * Finishes what an earlier attempt has begun: repeats the changes of instances that Exchange has
   * ended. Instances that are changed already stay as they are.
   * @returns whether the earlier attempt may have written the series
   */
  async resume(
    account: ProviderAccount,
    id: string,
    notes: WriteNotes | undefined,
  ): Promise<boolean> {
    const begun = notes?.text ? noted.safeParse(jsonOf(Buffer.from(notes.text))).data : undefined;
    const series = begun && (await this.events.findProven(account, id));
    if (!series || series['@odata.etag'] === begun.version) return false;
    const changed = begun.changed as ChangedInstance[];
    if (series.recurrence) await this.carryOut(account, series, { excluded: [], changed });
    return true;
  }

  async #changedInstances(
    account: ProviderAccount,
    series: GraphFields,
    { exceptions }: SeriesState,
  ): Promise<ChangedInstance[]> {
    const found: ChangedInstance[] = [];
    for (const { id, originalMs } of exceptions) {
      const event = await this.events.findProven(account, id);
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
    const writing = this.events.read(account, { ...request, repeatable: true });
    await this.events.unlessPassing(account, found.id, writing);
  }
}
