import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompanyClient } from '../../scripts/live/behaviours/company-client.ts';
import { GMAIL_BEHAVIOURS, GMAIL_LAST } from '../../scripts/live/behaviours/google-mail.ts';
import { PEOPLE_BEHAVIOURS } from '../../scripts/live/behaviours/google-people.ts';
import { GRAPH_HEADERS, MICROSOFT_BEHAVIOURS } from '../../scripts/live/behaviours/microsoft.ts';
import { observe, type TrialTime } from '../../scripts/live/behaviours/observer.ts';
import type { Observation } from '../../scripts/live/behaviours/record.ts';
import type { Walk } from '../../scripts/live/walk.ts';
import { GoogleError } from '../support/google/errors.ts';
import { GoogleStub } from '../support/google/google-stub.ts';
import { scope } from '../support/google/scopes.ts';
import { graphErrors } from '../support/microsoft/http/types.ts';
import { MicrosoftStub } from '../support/microsoft/microsoft-stub.ts';
import type { StubAnswer, StubRequest } from '../support/remote-stub/messages.ts';

const ANN = 'ann@live.test';
const MAIL = `From: x@elsewhere.test\r\nTo: ${ANN}\r\nSubject: Hello\r\n\r\nHello\r\n`;
const ALL_GOOGLE = [...GMAIL_BEHAVIOURS, ...PEOPLE_BEHAVIOURS, ...GMAIL_LAST];

/** A clock that stands still except in pauses. */
class StillTime implements TrialTime {
  #ms = Date.now();
  readonly now = (): number => this.#ms;
  pause = async (): Promise<void> => {
    this.#ms += 2_000;
  };
}

/** A run with an account, at the place where it tries behaviours. */
function walkOf(settings: object = {}): { walk: Walk; left: () => string[] } {
  const undos = new Map<string, number>();
  const walk = {
    account: { email: ANN, scopes: ['email', 'calendar', 'contacts'] },
    settings: { isRecorded: true, server: {}, ...settings },
    report: { note: () => undefined },
    isInterrupted: false,
    made: (what: string, work: () => Promise<void>) => {
      undos.set(what, (undos.get(what) ?? 0) + 1);
      return async () => {
        await work();
        undos.set(what, (undos.get(what) ?? 0) - 1);
      };
    },
  } as unknown as Walk;
  return { walk, left: () => [...undos].flatMap(([what, times]) => (times > 0 ? [what] : [])) };
}

describe('npm run live at a Google of either behaviour', () => {
  let stub: GoogleStub;
  let time: StillTime;

  beforeEach(async () => {
    time = new StillTime();
    stub = await GoogleStub.start({ now: time.now });
    stub.addUser(ANN);
    stub.deliver(MAIL, [ANN]);
  });
  afterEach(() => stub.stop());

  const tried = async (name: string): Promise<Observation> => {
    const behaviour = ALL_GOOGLE.filter((one) => one.name === name);
    const scopes = ['gmail.modify', 'contacts'].map(scope);
    const client = new CompanyClient(stub.origin, stub.oauth.accessTokenFor(ANN, scopes));
    const { walk, left } = walkOf();
    const [seen] = await observe(walk, client, behaviour, time);
    expect(left()).toEqual([]);
    return seen!;
  };
  const refuse = (path: RegExp, answer: StubAnswer, more: object = {}) =>
    stub.faults.add({
      match: (request: StubRequest) => path.test(request.path),
      answer,
      times: Infinity,
      ...more,
    });
  const error = (status: number, reason: string, words = '') =>
    new GoogleError(status, reason, words).answer();
  const isFullSync = ({ path, query }: StubRequest) =>
    path.endsWith('/connections') && !query.has('syncToken') && !query.has('pageToken');

  type Case = [name: string, when: string, prepare: () => void, answer: Observation['answer']];
  it.each<Case>([
    ['gmail-message-id', 'Gmail keeps what was sent', () => undefined, 'yes'],
    [
      'gmail-message-id',
      'Gmail replaces Message-IDs',
      () => (stub.habits.messageIds = 'replaced'),
      'no',
    ],
    [
      'gmail-message-id',
      'Gmail drops own headers',
      () => (stub.habits.ownHeaders = 'dropped'),
      'no',
    ],
    [
      'gmail-message-id',
      'the message has no headers in the answer',
      () => refuse(/messages\/[^/]+$/, { status: 200, body: { id: '1' } }, { after: 1 }),
      'open',
    ],
    ['gmail-labels-before-message', 'the message comes first', () => undefined, 'no'],
    [
      'gmail-labels-before-message',
      'the message comes first, on the second page',
      () => (stub.habits.pages = 'empty first'),
      'no',
    ],
    [
      'gmail-labels-before-message',
      'the labels come first',
      () => (stub.habits.labelsFirst = true),
      'yes',
    ],
    [
      'gmail-labels-before-message',
      'the history shows nothing in time',
      () => (stub.habits.historyLagMs = 3_600_000),
      'open',
    ],
    ['google-blocked-application', 'nothing blocks the application', () => undefined, 'open'],
    [
      'google-blocked-application',
      'the domain blocks it with 403',
      () => refuse(/profile$/, error(403, 'domainPolicy')),
      'yes',
    ],
    [
      'google-blocked-application',
      'the domain blocks it with 400',
      () => refuse(/profile$/, error(400, 'admin_policy_enforced')),
      'no',
    ],
    ...['insufficientPermissions', 'accessNotConfigured', 'userRateLimitExceeded'].map(
      (reason): Case => [
        'google-blocked-application',
        `Gmail answers 403 ${reason}`,
        () => refuse(/profile$/, error(403, reason)),
        'open',
      ],
    ),
    ['gmail-old-project', 'the project is new', () => undefined, 'no'],
    ['gmail-old-project', 'the project is old', () => stub.quotas.useProject('old'), 'yes'],
    [
      'gmail-old-project',
      'Gmail refuses requests at the same time',
      () => refuse(/messages\/[^/]+$/, error(429, 'rateLimitExceeded'), { after: 5 }),
      'open',
    ],
    [
      'gmail-old-project',
      'the project is new and a minute of Google ends during the reads',
      () => {
        let reads = 0;
        const { gmail } = stub.quotas.perUser;
        const match = ({ path }: StubRequest) => {
          if (/messages\/[^/]+$/.test(path) && ++reads === 250) gmail.clear();
          return false;
        };
        stub.faults.add({ match, answer: error(500, 'backendError'), times: Infinity });
      },
      'no',
    ],
    [
      'gmail-old-project',
      'the project is old and Gmail refuses requests at the same time after many reads',
      () => {
        stub.quotas.useProject('old');
        const words = 'Too many concurrent requests for user.';
        refuse(/messages\/[^/]+$/, error(429, 'rateLimitExceeded', words), { after: 150 });
      },
      'open',
    ],
    [
      'gmail-old-project',
      'Gmail refuses for another reason',
      () => {
        stub.quotas.useProject('old');
        refuse(/messages\/[^/]+$/, error(403, 'domainPolicy'), { after: 320 });
      },
      'open',
    ],
    ['people-late-writes', 'contacts are shown at once', () => undefined, 'no'],
    [
      'people-late-writes',
      'contacts are shown after a minute',
      () => (stub.habits.contactsLagMs = 60_000),
      'yes',
    ],
    [
      'people-late-writes',
      'contacts are shown at once, on the second page',
      () => (stub.habits.pages = 'empty first'),
      'no',
    ],
    ['people-other-parameters', 'another page size is allowed', () => undefined, 'no'],
    [
      'people-other-parameters',
      'another page size is refused',
      () => (stub.habits.samePages = true),
      'yes',
    ],
    [
      'people-other-parameters',
      'every sync request is refused',
      () =>
        stub.faults.add({
          match: ({ query }) => query.has('syncToken'),
          answer: error(400, 'failedPrecondition'),
          times: Infinity,
        }),
      'open',
    ],
    ['people-first-page-quota', 'first pages have no quota', () => undefined, 'no'],
    [
      'people-first-page-quota',
      'first pages have a quota of their own',
      () =>
        stub.faults.add({
          match: isFullSync,
          after: 5,
          times: Infinity,
          answer: error(429, 'rateLimitExceeded'),
        }),
      'yes',
    ],
    [
      'people-first-page-quota',
      'all requests together have used up the quota',
      () => (stub.quotas.perUser.people.limit.units = 6),
      'open',
    ],
  ])('answers %s: when %s', async (name, _when, prepare, answer) => {
    prepare();
    expect(await tried(name)).toMatchObject({ name, answer });
  });

  it('sends a message with a Message-ID and a mark as the server makes them', async () => {
    await tried('gmail-message-id');
    const [sent] = stub.requestsOf('POST /gmail/v1/users/me/messages/send');
    const { raw } = sent!.json as { raw: string };
    const mime = Buffer.from(raw, 'base64url').toString();
    const [, id] = /^Message-ID: <([\da-f-]{36})\.[\da-z]{10}@[^>]+>\r$/m.exec(mime) ?? [];
    expect(id).toBeDefined();
    expect(mime).toMatch(new RegExp(`^X-Message-Mark: send\\.[\\w-]{22}\\.${id}\\r$`, 'm'));
  });
});

describe('npm run live at a Microsoft of either behaviour', () => {
  let stub: MicrosoftStub;
  let time: StillTime;
  let receiver: Server;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end(searchParams.get('validationToken'));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  beforeEach(async () => {
    time = new StillTime();
    stub = await MicrosoftStub.start({ now: time.now });
    stub.addUser(ANN);
    await stub.put(ANN, MAIL);
    await stub.put(ANN, MAIL);
    const { port } = receiver.address() as AddressInfo;
    stub.world.subscriptions.reach = (address) => {
      expect(address).toBe('https://carillon.test/push/microsoft');
      return `http://127.0.0.1:${port}/`;
    };
  });
  afterEach(() => stub.stop());

  const WITH_OUTLOOK = { hasOutlook: true };
  const WITH_PUSH = { server: { PUSH_URL: 'https://carillon.test' } };
  const tried = async (name: string, settings: object = {}): Promise<Observation> => {
    const behaviour = MICROSOFT_BEHAVIOURS.filter((one) => one.name === name);
    const { accessToken } = stub.tokensFor(ANN, [
      'Mail.ReadWrite',
      'Mail.Send',
      'Calendars.ReadWrite',
    ]);
    const { walk, left } = walkOf(settings);
    const client = new CompanyClient(stub.origin, accessToken, GRAPH_HEADERS);
    const [seen] = await observe(walk, client, behaviour, time);
    expect(left()).toEqual([]);
    return seen!;
  };
  const after = (count: number, path: RegExp, answer: StubAnswer) =>
    stub.faults.add({
      match: (request) => request.method === 'POST' && path.test(request.path),
      after: count,
      answer,
    });

  type Case = [
    name: string,
    when: string,
    prepare: () => void,
    answer: Observation['answer'],
    settings?: object,
  ];
  /** The user sends the draft as soon as the run says so; the clock goes on in the pause. */
  const sendWith = (isClassic: boolean) => {
    time.pause = async () => {
      time.pause = new StillTime().pause;
      const [draft] = [...stub.user(ANN).mailbox.messages()].filter(({ isDraft }) => isDraft);
      await stub.sendInOutlook(ANN, draft!.subject, isClassic);
    };
  };

  it.each<Case>([
    ['outlook-changes-ids', 'nobody has Outlook', () => undefined, 'open'],
    ['outlook-changes-ids', 'nobody sends the draft', () => undefined, 'open', WITH_OUTLOOK],
    ['outlook-changes-ids', 'Outlook keeps the draft', () => sendWith(false), 'no', WITH_OUTLOOK],
    ['outlook-changes-ids', 'Outlook replaces it', () => sendWith(true), 'yes', WITH_OUTLOOK],
    ['graph-delta-repeats', 'no page repeats an entry', () => undefined, 'no'],
    [
      'graph-delta-repeats',
      'pages repeat an entry',
      () => (stub.settings.repeatsEntries = true),
      'yes',
    ],
    [
      'graph-delta-repeats',
      'the inbox has one message',
      () => {
        const { mailbox } = stub.user(ANN);
        mailbox.remove([...mailbox.messages()][0]!);
      },
      'open',
    ],
    ['graph-calendar-subscription', 'there is no public address', () => undefined, 'open'],
    [
      'graph-calendar-subscription',
      'only all events can be watched',
      () => undefined,
      'no',
      WITH_PUSH,
    ],
    [
      'graph-calendar-subscription',
      'a calendar can be watched',
      () => (stub.settings.watchesCalendars = true),
      'yes',
      WITH_PUSH,
    ],
    [
      'graph-calendar-subscription',
      'Microsoft cannot reach the address',
      () => {
        stub.settings.watchesCalendars = true;
        stub.world.subscriptions.reach = () => 'http://127.0.0.1:9/';
      },
      'open',
      WITH_PUSH,
    ],
    [
      'graph-calendar-subscription',
      'Microsoft is too busy',
      () => after(0, /subscriptions$/, { status: 503 }),
      'open',
      WITH_PUSH,
    ],
    ['graph-repeated-transaction-id', 'the answer is the first event', () => undefined, 'yes'],
    [
      'graph-repeated-transaction-id',
      'the answer is 409',
      () => (stub.settings.repeatedCreation = 'conflict'),
      'no',
    ],
    [
      'graph-repeated-transaction-id',
      'there is another event',
      () => (stub.settings.repeatedCreation = 'another'),
      'no',
    ],
    [
      'graph-repeated-transaction-id',
      'Microsoft is too busy for the second request',
      () => after(1, /events$/, { status: 503 }),
      'open',
    ],
    [
      'graph-repeated-transaction-id',
      'the second request is refused for another reason',
      () => after(1, /events$/, graphErrors.invalidRequest('No.').answer()),
      'open',
    ],
  ])('answers %s: when %s', async (name, _when, prepare, answer, settings = {}) => {
    prepare();
    expect(await tried(name, settings)).toMatchObject({ name, answer });
    expect([...stub.user(ANN).calendars.allEvents()]).toEqual([]);
    expect([...stub.world.subscriptions.all]).toEqual([]);
  });
});
