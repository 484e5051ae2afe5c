import type { CalendarPort } from '../../src/providers/port/connector.ts';
import type { HostedAccount } from './hosted-world.ts';

/*
 * What the suites of Google's and Microsoft's calendars have in common.
 */

export const START = 1_900_058_400;
const zone = { start_timezone: 'Europe/Berlin', end_timezone: 'Europe/Berlin' };
export const when = { start_time: START, end_time: START + 3600, ...zone };
/** A participant without an account here. */
export const BO = { email: 'bo@elsewhere.test', name: 'Bo', status: 'noreply' };
export const weekly = {
  when,
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' },
};

export type ShownEvent = { id: string; title: string; status: string };

/** An account with calendars of any company. */
export type CompanyAccount = HostedAccount<Pick<CalendarPort, 'listCalendars'>>;

/** Requests of one account about its events. @param account the account of the present test */
export function eventCalls(account: () => CompanyAccount) {
  const api = (...given: Parameters<CompanyAccount['api']>) => account().api(...given);
  const post = (fields: object, query = '') =>
    api('post', `/events${query}`, {
      calendar_id: account().calendarId,
      title: 'Review',
      when,
      ...fields,
    });
  return {
    api,
    post,
    /** Creates an event, and waits until it is written. @returns its id */
    create: async (fields: object, query = ''): Promise<string> =>
      account().written(await post(fields, query)),
    /** Changes an event, and waits until the change is written. */
    change: async (id: string, query: string, fields: object) =>
      account().written(await api('put', `/events/${id}${query}`, fields)),
    titles: async (query = ''): Promise<string[]> =>
      ((await api('get', `/events${query}`)) as ShownEvent[]).map(({ title }) => title),
    /** Mails about events that this server has sent itself. */
    ownMails: async () =>
      ((await api('get', '/job-statuses?limit=100')) as { action: string }[]).filter(({ action }) =>
        ['notify_participants', 'send_invitation', 'send_rsvp'].includes(action),
      ),
  };
}
