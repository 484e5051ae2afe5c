import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { InstancePosition, ProviderAccount } from '../../port/connector.ts';
import { nullIfGone } from '../../rest/gone.ts';
import { googlePages } from '../google-api.ts';
import type { CalendarApi } from './google-calendar-api.ts';
import { EventIds } from './google-event-ids.ts';
import { googleEvent } from './google-event.ts';

const instanceList = z.object({
  items: z.array(googleEvent).default([]),
  nextPageToken: z.string().optional(),
});

/**
 * Finds the instances of series. The id of an instance is usually the id of its series, `_` and the
 * start. It is different if somebody changed "this and following" events: Google then makes a
 * second series, whose id is that of the first with `_R` and its start. But the instances of the
 * second series have ids that begin with the id of the first.
 */
export class GoogleInstances {
  constructor(private readonly api: CalendarApi) {}

  /** @returns `null` if there is no such instance, or it was deleted */
  async find(account: ProviderAccount, position: InstancePosition): Promise<EventIds | null> {
    const usual = await this.#usual(account, position);
    if (usual) return usual;
    const listed = await this.#listed(account, position);
    return listed && listed.status !== 'cancelled' ? listed.ids : null;
  }

  /**
   * A deleted instance is returned as well.
   * @throws {ProviderError} `not-found`
   */
  async require(account: ProviderAccount, position: InstancePosition): Promise<EventIds> {
    const ids =
      (await this.#usual(account, position)) ?? (await this.#listed(account, position))?.ids;
    if (!ids) throw new ProviderError('not-found', 'Google: the series has no such instance');
    return ids;
  }

  /** The instance with the usual id; `null` if there is none. */
  async #usual(
    account: ProviderAccount,
    { series, start }: InstancePosition,
  ): Promise<EventIds | null> {
    const ids = EventIds.require(`${series}_${start}`);
    const path = `${pathOf(ids.calendarId)}/${encodeURIComponent(ids.eventId)}`;
    const event = await nullIfGone(this.api.read(account, { method: 'GET', path }, googleEvent));
    return event && ids;
  }

  async #listed(account: ProviderAccount, { series, start }: InstancePosition) {
    const { calendarId, eventId } = EventIds.require(series);
    const path = `${pathOf(calendarId)}/${encodeURIComponent(eventId)}/instances`;
    const query = { originalStart: readable(start), showDeleted: true, maxResults: 1 };
    const pages = googlePages(async (pageToken) => {
      const request = { method: 'GET', path, query: { ...query, pageToken } } as const;
      return (await nullIfGone(this.api.read(account, request, instanceList))) ?? { items: [] };
    });
    for await (const { items } of pages) {
      const [found] = items;
      if (found) return { ids: EventIds.of(calendarId, found.id), status: found.status };
    }
    return null;
  }
}

const pathOf = (calendarId: string): string =>
  `/calendars/${encodeURIComponent(calendarId)}/events`;

/** `20300311T080000Z` as 2030-03-11T08:00:00Z, and `20300311` as 2030-03-11. */
const readable = (start: string): string =>
  start.replace(/^(\d{4})(\d\d)(\d\d)/, '$1-$2-$3').replace(/T(\d\d)(\d\d)(\d\d)Z$/, 'T$1:$2:$3Z');
