import { z } from 'zod';
import type { CalendarContent, ProviderAccount, RemoteCalendar } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { ignoreGone } from '../../rest/gone.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphError } from '../graph-error.ts';
import { unlessPassing } from '../graph-second-look.ts';
import { TEAMS_PROVIDER } from './graph-event.ts';
import { EXPAND_EXTENSION, extended, extraOf, keyOf, writeExtension } from '../graph-extension.ts';

const calendar = z.object({
  id: z.string(),
  name: z.string().nullish(),
  canEdit: z.boolean().nullish(),
  isDefaultCalendar: z.boolean().nullish(),
  singleValueExtendedProperties: extended,
});
const meetings = z.object({ allowedOnlineMeetingProviders: z.array(z.string()).nullish() });
type GraphCalendarEntry = z.infer<typeof calendar>;

const text = z.string().nullable().default(null);
const extra = z.object({ description: text, location: text, timezone: text });
const NONE = { description: null, location: null, timezone: null };

const COST = { priority: 'interactive' } as const;
const pathOf = (id: string): string => `/calendars/${encodeURIComponent(id)}`;

/** The calendars of a mailbox. Graph keeps their names; the other fields are an extension. */
export class GraphCalendars {
  constructor(private readonly api: GraphApi) {}

  /** An account whose user has not agreed to calendars has none. */
  async list(account: ProviderAccount): Promise<readonly RemoteCalendar[]> {
    try {
      return (await this.#all(account)).map((one) => ({
        providerId: one.id,
        name: one.name ?? '',
        ...extraOf(one.singleValueExtendedProperties, extra, NONE),
        isPrimary: one.isDefaultCalendar ?? false,
        readOnly: one.canEdit === false,
      }));
    } catch (error) {
      if (error instanceof GraphError && error.isWithoutConsent) return [];
      throw error;
    }
  }

  async create(account: ProviderAccount, key: string, content: CalendarContent) {
    const all = await this.#all(account);
    const there = all.find((one) => keyOf(one.singleValueExtendedProperties) === key);
    if (there) {
      await this.update(account, there.id, content);
      return { providerId: there.id };
    }
    const json = write(content, key);
    const request = { method: 'POST', path: '/calendars', json, ...COST } as const;
    return { providerId: (await this.api.read(account, request, calendar)).id };
  }

  async update(account: ProviderAccount, id: string, content: CalendarContent): Promise<void> {
    const request = { method: 'PATCH', path: pathOf(id), json: write(content), ...COST } as const;
    await this.unlessPassing(account, id, this.api.send(account, { ...request, repeatable: true }));
  }

  async remove(account: ProviderAccount, id: string): Promise<void> {
    const request = { method: 'DELETE', path: pathOf(id), ...COST } as const;
    await ignoreGone(this.unlessPassing(account, id, this.api.send(account, request)));
  }

  /** Waits for a request about a calendar. See `provenGone`. */
  unlessPassing<T>(account: ProviderAccount, id: string, work: Promise<T>): Promise<T> {
    return unlessPassing(this.api, account, { path: pathOf(id), part: 'calendar' }, work);
  }

  /**
   * Makes sure that a calendar allows meetings of Teams: Graph otherwise creates the event without
   * one.
   * @param path of the calendar
   * @throws {ProviderError} `rejected` if it does not
   */
  async assertTeams(account: ProviderAccount, path: string): Promise<void> {
    const query = { $select: 'id,allowedOnlineMeetingProviders' };
    const request = { method: 'GET', path, query, ...COST } as const;
    const { allowedOnlineMeetingProviders: allowed } = await this.api.read(
      account,
      request,
      meetings,
    );
    if (!allowed || allowed.includes(TEAMS_PROVIDER)) return;
    const others = allowed.length > 0 ? `only ${allowed.join(', ')}` : 'no meetings';
    throw new ProviderError(
      'rejected',
      `conferencing: this calendar allows ${others}, not Microsoft Teams for work or school. Leave conferencing out, or use another service`,
    );
  }

  #all(account: ProviderAccount): Promise<GraphCalendarEntry[]> {
    const query = { $top: 100, $expand: EXPAND_EXTENSION };
    return this.api.all(account, { method: 'GET', path: '/calendars', query, ...COST }, calendar);
  }
}

function write({ name, ...rest }: CalendarContent, key?: string) {
  return { name, ...writeExtension(extra.parse(rest), key) };
}
