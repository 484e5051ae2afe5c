import { randomUUID } from 'node:crypto';
import { outlookIds } from './microsoft-outlook.ts';
import { field, items, text } from '../../lib/api-client.ts';
import { errorWord } from './company-client.ts';
import type { Behaviour, Trial } from './observer.ts';

const IMMUTABLE = 'IdType="ImmutableId"';
/** Ids that stay when an item moves, as Carillon asks for in every request. */
export const GRAPH_HEADERS = { prefer: IMMUTABLE };

const DAY_MS = 86_400_000;
const MOST_PAGES = 100;

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
    const isWhole = path === undefined;
    const facts = { pages, isWhole, messages: seen.size, repeated };
    if (repeated > 0) return { answer: 'yes', facts };
    return { answer: isWhole && seen.size > 1 ? 'no' : 'open', facts };
  },
};

const calendarSubscriptions: Behaviour = {
  name: 'graph-calendar-subscription',
  question: 'Does Microsoft accept subscriptions to calendars/{id}/events?',
  scopes: ['calendar', 'calendar.read_only'],
  /** Carillon subscribes to all events of the mailbox, so its own subscriptions answer nothing. */
  async try(trial) {
    const { company, walk } = trial;
    const publicUrl = walk.settings.server['PUSH_URL'];
    if (publicUrl === undefined) return { answer: 'open', facts: { needsPushUrl: true } };
    const id = text(await company.expect('GET', '/v1.0/me/calendar'), 'id');
    const ofCalendar = await subscribe(trial, `me/calendars/${id}/events`, publicUrl);
    const facts = { status: ofCalendar.status, error: errorWord(ofCalendar) };
    if (ofCalendar.status < 300) return { answer: 'yes', facts };
    // If Microsoft cannot reach the address, it refuses this subscription as well.
    const ofAll = await subscribe(trial, 'me/events', publicUrl);
    const isRefused = REFUSALS.includes(ofCalendar.status) && ofAll.status < 300;
    return {
      answer: isRefused ? 'no' : 'open',
      facts: { ...facts, statusForAllEvents: ofAll.status },
    };
  },
};

/** Statuses by which Microsoft refuses a resource. Others may pass. */
const REFUSALS: readonly number[] = [400, 403, 404, 405, 501];
const SUBSCRIPTION_MS = 3_600_000;

/** Subscribes to a resource, and ends the subscription at once. */
async function subscribe({ company, walk }: Trial, resource: string, publicUrl: string) {
  const answer = await company.call('POST', '/v1.0/subscriptions', {
    json: {
      changeType: 'created,updated,deleted',
      resource,
      notificationUrl: `${publicUrl.replace(/\/$/, '')}/push/microsoft`,
      expirationDateTime: new Date(Date.now() + SUBSCRIPTION_MS).toISOString(),
    },
  });
  const id = field(answer.body, 'id');
  if (answer.status >= 300 || typeof id !== 'string') return answer;
  const remove = walk.made('a subscription to changes of the calendar', async () => {
    await company.expect('DELETE', `/v1.0/subscriptions/${encodeURIComponent(id)}`);
  });
  await remove();
  return answer;
}

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
    const error = errorWord(second);
    const facts = { status: second.status, error, isSame };
    if (second.status < 300) return { answer: isSame ? 'yes' : 'no', facts };
    const isRepetition = second.status === 409 || error === 'ErrorDuplicateTransactionId';
    return { answer: isRepetition ? 'no' : 'open', facts };

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
