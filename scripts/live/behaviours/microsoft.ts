import { randomUUID } from 'node:crypto';
import { field, items, text } from '../../lib/api-client.ts';
import { errorWord } from './company-client.ts';
import type { Behaviour } from './observer.ts';

const IMMUTABLE = 'IdType="ImmutableId"';
/** Ids that stay when an item moves, as Carillon asks for in every request. */
export const GRAPH_HEADERS = { prefer: IMMUTABLE };

const DAY_MS = 86_400_000;
const MOST_PAGES = 25;

const outlookIds: Behaviour = {
  name: 'outlook-changes-ids',
  question: 'Does classic Outlook change the immutable id and Message-ID of a draft that it sends?',
  scopes: [],
  try: () => Promise.resolve({ answer: 'open', facts: { needsClassicOutlook: true } }),
};

const repeatedEntries: Behaviour = {
  name: 'graph-delta-repeats',
  question: 'Does one round of a message delta name the same message twice?',
  scopes: ['email', 'email.modify', 'email.read_only'],
  async try({ company }) {
    const seen = new Map<string, number>();
    const headers = { prefer: `odata.maxpagesize=10, ${IMMUTABLE}` };
    let path: string | undefined = '/v1.0/me/mailFolders/inbox/messages/delta?$select=id';
    let pages = 0;
    for (; path !== undefined && pages < MOST_PAGES; pages += 1) {
      const page: unknown = await company.expect('GET', path, { headers });
      for (const one of items(field(page, 'value') ?? [])) {
        const id = text(one, 'id');
        seen.set(id, (seen.get(id) ?? 0) + 1);
      }
      const next = field(page, '@odata.nextLink');
      path = typeof next === 'string' ? next : undefined;
    }
    const repeated = [...seen.values()].filter((times) => times > 1).length;
    const facts = { pages, messages: seen.size, repeated };
    return { answer: repeated > 0 ? 'yes' : seen.size < 2 ? 'open' : 'no', facts };
  },
};

const calendarSubscriptions: Behaviour = {
  name: 'graph-calendar-subscription',
  question: 'Does Microsoft accept subscriptions to calendars/{id}/events?',
  scopes: ['calendar', 'calendar.read_only'],
  async try({ walk }) {
    if (walk.settings.server['PUSH_URL'] === undefined)
      return { answer: 'open', facts: { needsPushUrl: true } };
    const listed: unknown = JSON.parse(await walk.server.operator(['--json', 'watches']));
    const watches = items(field(listed, 'watches') ?? []);
    const calendars = watches.filter((one) => /calendar/i.test(String(field(one, 'resource'))));
    const live = calendars.filter((one) => field(one, 'state') === 'live').length;
    const refused = calendars.filter((one) => Boolean(field(one, 'error'))).length;
    const facts = { subscriptions: calendars.length, live, refused };
    if (live > 0) return { answer: 'yes', facts };
    return { answer: refused > 0 ? 'no' : 'open', facts };
  },
};

const repeatedTransaction: Behaviour = {
  name: 'graph-repeated-transaction-id',
  question: 'Does a repeated transactionId answer with the event that the first request made?',
  scopes: ['calendar'],
  async try({ company, walk }) {
    const [start, end] = [7, 7.04].map((days) => ({
      dateTime: new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 19),
      timeZone: 'UTC',
    }));
    const json = {
      subject: 'Carillon live check (can be deleted)',
      start,
      end,
      transactionId: randomUUID(),
    };
    const first = await company.expect('POST', '/v1.0/me/events', { json });
    const id = text(first, 'id');
    const removals = [remover(id)];
    const second = await company.call('POST', '/v1.0/me/events', { json });
    const otherId = field(second.body, 'id');
    if (typeof otherId === 'string' && otherId !== id) removals.push(remover(otherId));
    for (const remove of removals) await remove();
    const isSame = otherId === id;
    const facts = { status: second.status, error: errorWord(second), isSame };
    return { answer: isSame ? 'yes' : 'no', facts };

    function remover(eventId: string) {
      return walk.made('the event "Carillon live check (can be deleted)"', async () => {
        await company.expect('DELETE', `/v1.0/me/events/${encodeURIComponent(eventId)}`);
      });
    }
  },
};

/** Behaviours of Microsoft Graph and Exchange. */
export const MICROSOFT_BEHAVIOURS = [
  outlookIds,
  repeatedEntries,
  calendarSubscriptions,
  repeatedTransaction,
];
