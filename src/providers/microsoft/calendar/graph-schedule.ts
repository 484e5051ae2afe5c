import { z } from 'zod';
import type {
  FreeBusyRequest,
  PersonBusy,
  ProviderAccount,
  RemoteRoom,
  TimeRange,
} from '../../port/connector.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphError } from '../graph-error.ts';
import { DAY_MS, graphTime, IN_UTC, msOf } from './graph-time.ts';

/** Most addresses of one request, and its longest time. */
const MOST_SCHEDULES = 20;
const MOST_SECONDS = (62 * DAY_MS) / 1000;
/** Only the digits of the summary have this length; the entries are exact. */
const INTERVAL_MINUTES = 60;

const schedules = z.object({
  value: z
    .array(
      z.object({
        scheduleId: z.string(),
        scheduleItems: z
          .array(z.object({ status: z.string().nullish(), start: graphTime, end: graphTime }))
          .nullish(),
        error: z
          .object({ message: z.string().nullish(), responseCode: z.string().nullish() })
          .nullish(),
      }),
    )
    .default([]),
});

const text = z.string().nullish();
const room = z.object({
  emailAddress: z.string(),
  displayName: text,
  capacity: z.number().nullish(),
  building: text,
  floorLabel: text,
  floorNumber: z.number().nullish(),
});

/** Statuses in which people can be invited. */
const FREE = ['free', 'workingElsewhere'];

/** When people are busy, and the rooms of the organization. */
export class GraphSchedule {
  constructor(private readonly api: GraphApi) {}

  async freeBusy(
    account: ProviderAccount,
    { emails, start, end, signal }: FreeBusyRequest,
  ): Promise<readonly PersonBusy[]> {
    const found = new Map<string, PersonBusy>();
    for (let from = start; from < end; from += MOST_SECONDS) {
      const range = { start: from, end: Math.min(from + MOST_SECONDS, end) };
      for (let at = 0; at < emails.length; at += MOST_SCHEDULES) {
        const some = emails.slice(at, at + MOST_SCHEDULES);
        for (const one of await this.#some(account, some, range, signal)) add(found, one);
      }
    }
    return [...found.values()];
  }

  /** Empty if the consent to reading rooms is missing, or if the account has no organization. */
  async rooms(account: ProviderAccount, signal: AbortSignal): Promise<readonly RemoteRoom[]> {
    try {
      const query = { $top: 100 };
      const path = '/places/microsoft.graph.room';
      const request = { method: 'GET', path, root: true, query, priority: 'interactive' } as const;
      return (await this.api.all(account, { ...request, signal }, room)).map((one) => ({
        email: one.emailAddress.toLowerCase(),
        name: one.displayName ?? '',
        capacity: one.capacity ? String(one.capacity) : '',
        building: one.building ?? '',
        floorName: one.floorLabel ?? '',
        floorNumber: typeof one.floorNumber === 'number' ? String(one.floorNumber) : '',
      }));
    } catch (error) {
      if (error instanceof GraphError && error.code === 'rejected') return [];
      throw error;
    }
  }

  async #some(
    account: ProviderAccount,
    emails: readonly string[],
    { start, end }: TimeRange,
    signal: AbortSignal,
  ): Promise<PersonBusy[]> {
    const at = (seconds: number) => ({
      dateTime: new Date(seconds * 1000).toISOString().slice(0, 19),
      timeZone: 'UTC',
    });
    const json = {
      schedules: emails,
      startTime: at(start),
      endTime: at(end),
      availabilityViewInterval: INTERVAL_MINUTES,
    };
    const request = { method: 'POST', path: '/calendar/getSchedule', json } as const;
    const { value } = await this.api.read(
      account,
      { ...request, repeatable: true, priority: 'interactive', prefer: [IN_UTC], signal },
      schedules,
    );
    return value.map(({ scheduleId, scheduleItems, error }): PersonBusy => {
      const email = scheduleId.toLowerCase();
      if (error)
        return {
          email,
          unknown: error.message || error.responseCode || 'Microsoft gives no reason',
        };
      const busy = (scheduleItems ?? [])
        .filter(({ status }) => !FREE.includes(status ?? ''))
        .map((one) => ({ start: msOf(one.start) / 1000, end: msOf(one.end) / 1000 }));
      return { email, busy };
    });
  }
}

function add(found: Map<string, PersonBusy>, one: PersonBusy): void {
  const before = found.get(one.email);
  const both = before && 'busy' in before && 'busy' in one;
  found.set(one.email, both ? { ...one, busy: [...before.busy, ...one.busy] } : one);
}
