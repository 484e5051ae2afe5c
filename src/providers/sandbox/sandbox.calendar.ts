import { isId } from '../../platform/base/ids/ids.ts';
import type { Database } from '../../platform/database/sql.ts';
import type {
  CalendarContent,
  CalendarPort,
  EventContent,
  InstancePosition,
  ProviderAccount,
} from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { SandboxFaults } from './sandbox.faults.ts';
import { stableId } from './sandbox.ids.ts';
import { SANDBOX_DOMAIN } from './sandbox.magic.ts';
import { login } from './sandbox.settings.ts';
import type { SandboxCalendar } from './sandbox.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

type Data = Record<string, unknown>;

const gone = (what: string) => new ProviderError('not-found', `404 The ${what} does not exist`);

/** Calendars of the sandbox. Every mailbox has a primary calendar, named after its address. */
export class SandboxCalendars implements CalendarPort {
  constructor(
    private readonly database: Database,
    private readonly faults: SandboxFaults,
  ) {}

  async listCalendars(account: ProviderAccount) {
    login(account);
    const primary = { name: account.email, description: null, location: null, timezone: null };
    await this.#insertCalendar(account, stableId(account, 'primary calendar'), true, primary);
    const rows = await this.database.query<
      RowOf<SandboxCalendar, 'id' | 'primary'> & { data: CalendarContent }
    >(
      `select id, is_primary as "primary", data from sandbox_calendar
       where application_id = $1 and address = $2 order by is_primary desc, data ->> 'name', id`,
      [account.applicationId, account.email],
    );
    return rows.map(({ id, primary: isPrimary, data }) => ({
      ...data,
      providerId: id,
      isPrimary,
      readOnly: false,
    }));
  }

  async createCalendar(account: ProviderAccount, key: string, calendar: CalendarContent) {
    login(account);
    await this.#strike(account, key, calendar.name, 'write');
    const id = stableId(account, 'calendar', key);
    await this.#insertCalendar(account, id, false, calendar);
    return { providerId: id };
  }

  async updateCalendar(account: ProviderAccount, providerId: string, calendar: CalendarContent) {
    login(account);
    await this.#strike(account, providerId, calendar.name, 'write');
    const changed = await this.#query(
      account,
      providerId,
      `update sandbox_calendar set data = $4 where id = $1 and application_id = $2 and address = $3 returning id`,
      JSON.stringify(calendar),
    );
    if (changed.length === 0) throw gone('calendar');
  }

  async deleteCalendar(account: ProviderAccount, providerId: string) {
    login(account);
    const [calendar] = await this.#query<{ primary: boolean; data: Data }>(
      account,
      providerId,
      `select is_primary as "primary", data from sandbox_calendar
       where id = $1 and application_id = $2 and address = $3`,
    );
    if (!calendar) return;
    if (calendar.primary)
      throw new ProviderError('rejected', '403 The primary calendar cannot be deleted');
    await this.#strike(account, providerId, calendar.data['name'], 'delete');
    await this.#query(
      account,
      providerId,
      `with gone as (
         delete from sandbox_calendar where id = $1 and application_id = $2 and address = $3 returning id)
       delete from sandbox_event where calendar_id in (select id from gone)`,
    );
  }

  async createEvent(
    account: ProviderAccount,
    calendarProviderId: string,
    key: string,
    event: EventContent,
  ) {
    login(account);
    await this.#strike(account, key, event['title'], 'write');
    const id = stableId(account, 'event', key);
    // A repeated call may carry newer content, because the object was edited between the two calls.
    const created = await this.#query(
      account,
      calendarProviderId,
      `insert into sandbox_event (id, application_id, address, calendar_id, data)
       select $4::uuid, application_id, address, id, $5::jsonb from sandbox_calendar
       where id = $1 and application_id = $2 and address = $3
       on conflict (id) do update set data = excluded.data, calendar_id = excluded.calendar_id
       returning id`,
      id,
      JSON.stringify(event),
    );
    if (created.length === 0) throw gone('calendar');
    return { providerId: id, icalUid: `${id}@${SANDBOX_DOMAIN}` };
  }

  async updateEvent(account: ProviderAccount, providerId: string, event: EventContent) {
    login(account);
    await this.#strike(account, providerId, event['title'], 'write');
    const changed = await this.#query(
      account,
      providerId,
      `update sandbox_event
       set data = $4::jsonb || jsonb_strip_nulls(jsonb_build_object('series', data -> 'series', 'start', data -> 'start'))
       where id = $1 and application_id = $2 and address = $3 returning id`,
      JSON.stringify(event),
    );
    if (changed.length === 0) throw gone('event');
    return {};
  }

  async deleteEvent(account: ProviderAccount, providerId: string) {
    login(account);
    const [event] = await this.#query<{ data: Data }>(
      account,
      providerId,
      `select data from sandbox_event where id = $1 and application_id = $2 and address = $3`,
    );
    if (!event) return;
    await this.#strike(account, providerId, event.data['title'], 'delete');
    await this.#query(
      account,
      providerId,
      `delete from sandbox_event where application_id = $2 and address = $3 and (id = $1 or data ->> 'series' = $1::text)`,
    );
  }

  async writeInstance(
    account: ProviderAccount,
    { series, start }: InstancePosition,
    event: EventContent,
  ) {
    login(account);
    const id = stableId(account, 'instance', series, start);
    await this.#strike(account, id, event['title'], 'write');
    if (!(await this.#putInstance(account, id, series, { ...event, series, start })))
      throw gone('event');
    return { providerId: id, icalUid: `${series}@${SANDBOX_DOMAIN}` };
  }

  /** Stores a cancelled instance, so that the series excludes it. */
  async deleteInstance(account: ProviderAccount, { series, start }: InstancePosition) {
    login(account);
    const id = stableId(account, 'instance', series, start);
    const [there] = await this.#query<{ data: Data }>(
      account,
      series,
      `select data from sandbox_event where id in ($1, $4) and application_id = $2 and address = $3
       order by id = $4 desc limit 1`,
      id,
    );
    if (!there || there.data['status'] === 'cancelled') return;
    await this.#strike(account, id, there.data['title'], 'delete');
    await this.#putInstance(account, id, series, { series, start, status: 'cancelled' });
  }

  async resetInstance(account: ProviderAccount, providerId: string) {
    login(account);
    await this.#query(
      account,
      providerId,
      `delete from sandbox_event where id = $1 and application_id = $2 and address = $3 and data ? 'series'`,
    );
  }

  /** @returns false if the series does not exist */
  async #putInstance(
    account: ProviderAccount,
    id: string,
    series: string,
    data: Data,
  ): Promise<boolean> {
    const put = await this.#query(
      account,
      series,
      `insert into sandbox_event (id, application_id, address, calendar_id, data)
       select $4::uuid, application_id, address, calendar_id, $5::jsonb from sandbox_event
       where id = $1 and application_id = $2 and address = $3
       on conflict (id) do update set data = excluded.data
       returning id`,
      id,
      JSON.stringify(data),
    );
    return put.length > 0;
  }

  async #insertCalendar(
    account: ProviderAccount,
    id: string,
    primary: boolean,
    calendar: CalendarContent,
  ): Promise<void> {
    await this.database.query(
      `insert into sandbox_calendar (id, application_id, address, is_primary, data) values ($1, $2, $3, $4, $5)
       on conflict (id) do update set data = excluded.data where not sandbox_calendar.is_primary`,
      [id, account.applicationId, account.email, primary, JSON.stringify(calendar)],
    );
  }

  /** Fails as the title requests, the requested number of times per object and title. */
  #strike(account: ProviderAccount, object: string, title: unknown, operation: 'write' | 'delete') {
    return this.faults.strike(account, [title, operation], object, String(title));
  }

  /**
   * `$1` is the id, `$2` the application, `$3` the address; `rest` follows. Returns no rows if the
   * id is not a UUID, because then it is not an id of the sandbox.
   */
  async #query<R extends object>(
    account: ProviderAccount,
    id: string,
    text: string,
    ...rest: readonly string[]
  ): Promise<R[]> {
    if (!isId(id)) return [];
    return this.database.query<R>(text, [id, account.applicationId, account.email, ...rest]);
  }
}
