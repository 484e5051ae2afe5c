import type { StubRequest } from '../remote-stub/messages.ts';
import { type Deviation, type Forward, requestWith, type Supplement } from './emulator-proxy.ts';

/** Who has a mailbox at the emulator. */
export interface Mailboxes {
  /** A token of the person with this address; undefined if there is none. */
  tokenOf(email: string): string | undefined;
}

const GMAIL = '/gmail/v1/users/me';

/** What the package `emulate` 0.12.2 lacks, done by requests that it has. */
export const GOOGLE_SUPPLEMENTS = (mailboxes: Mailboxes): readonly Supplement[] => [
  {
    lacks: 'users.getProfile',
    match: ({ method, path }) => method === 'GET' && path === `${GMAIL}/profile`,
    async answer(request, forward) {
      const history = { path: `${GMAIL}/history`, query: { startHistoryId: '0', maxResults: '1' } };
      const [user, { status, body }] = [
        await forward(requestWith(request, { path: '/oauth2/v2/userinfo' })),
        await forward(requestWith(request, history)),
      ];
      if (status !== 200) return { status, body };
      const { email } = user.body as { email: string };
      const { historyId } = body as { historyId: string };
      return {
        status,
        body: { emailAddress: email, historyId, messagesTotal: 0, threadsTotal: 0 },
      };
    },
  },
  {
    lacks: 'the userinfo endpoint at its address of 2026; it has the older one',
    match: ({ path }) => path === '/v1/userinfo',
    answer: (request, forward) => forward(requestWith(request, { path: '/oauth2/v2/userinfo' })),
  },
  {
    lacks: 'the search words -in:; it has -label:',
    match: ({ query }) => query.get('q')?.includes('-in:') === true,
    answer(request, forward) {
      const query = Object.fromEntries(request.query);
      const q = query['q']?.replaceAll('-in:', '-label:') ?? '';
      return forward(requestWith(request, { query: { ...query, q } }));
    },
  },
  {
    lacks: 'delivery to other people, and uploads of a message in two parts',
    match: ({ method, path }) => method === 'POST' && path.endsWith('/messages/send'),
    async answer(request, forward) {
      const whole = withoutParts(request);
      const answer = await forward(whole);
      if (answer.status === 200) await deliver(whole, mailboxes, forward);
      return answer;
    },
  },
  {
    lacks: 'uploads of a message in two parts',
    match: ({ headers }) => headers['content-type']?.startsWith('multipart/related') === true,
    answer: (request, forward) => forward(withoutParts(request)),
  },
];

/** A request with a message as a field of its JSON. */
function withoutParts(request: StubRequest): StubRequest {
  const [, boundary] = /boundary=([^;]+)/.exec(request.headers['content-type'] ?? '') ?? [];
  if (boundary === undefined) return request;
  const text = request.body.toString('latin1');
  const [, metadata = '', mime = ''] = text.split(`--${boundary}`);
  const contentOf = (part: string) => part.slice(part.indexOf('\r\n\r\n') + 4, -2);
  const given = JSON.parse(contentOf(metadata)) as { message?: object };
  const raw = Buffer.from(contentOf(mime), 'latin1').toString('base64url');
  const json = given.message ? { message: { ...given.message, raw } } : { ...given, raw };
  return requestWith(request, { path: request.path.replace('/upload', ''), query: {}, json });
}

async function deliver(request: StubRequest, { tokenOf }: Mailboxes, forward: Forward) {
  const raw = Buffer.from((request.json as { raw: string }).raw, 'base64url').toString('latin1');
  const end = raw.indexOf('\r\n\r\n');
  const header = raw.slice(0, end).replace(/\r\n[ \t]+/g, ' ');
  const to = header.match(/^(to|cc|bcc):.*$/gim)?.join(',') ?? '';
  const copy = header.replace(/^bcc:.*(\r\n|$)/gim, '') + raw.slice(end);
  for (const email of new Set(to.match(/[^\s<>,:"]+@[^\s<>,"]+/g))) {
    const token = tokenOf(email.toLowerCase());
    if (token === undefined) continue;
    const json = { raw: Buffer.from(copy, 'latin1').toString('base64url') };
    const own = requestWith(request, { path: `${GMAIL}/messages/import`, query: {}, json });
    await forward({ ...own, headers: { ...own.headers, authorization: `Bearer ${token}` } });
  }
}

/** Answers of the package `emulate` 0.12.2 that Google's documents do not describe. */
export const GOOGLE_DEVIATIONS: readonly Deviation[] = [
  {
    does: 'history ids have more than 64 bits',
    violation: /\/gmail\/v1\/.* must match format "uint64"$/,
  },
  {
    does: 'a method that it lacks is answered without `error`',
    violation:
      /^Answer 404 to .*(required property 'error'|unknown field (message|documentation_url))$/,
  },
];

/** Tests of the connectors' contract that the package `emulate` 0.12.2 cannot pass. */
export const GOOGLE_FAILURES: Readonly<Record<string, string>> = {
  'stores a draft unchanged and only once, and replaces it with the next version':
    'drafts.update keeps the id of the message, and the history does not report it',
  'creates, changes and deletes a calendar, and creates no second one when the creation is repeated':
    'calendars.insert is missing',
  'keeps the data of accounts apart if the server has more than one user':
    'calendars.insert is missing',
  'creates, changes and deletes an event, and creates no second one when the creation is repeated':
    'events.insert ignores the id that the client chooses',
  'changes, resets and deletes instances of a series, and a repeated call has the same result':
    'events.get and events.patch are missing, and series are unknown',
};
