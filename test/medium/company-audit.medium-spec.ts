import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { COMPANIES } from '../support/companies/companies.ts';
import type { Company, CompanyStub } from '../support/companies/company.ts';
import { type OtherProgram, otherProgram } from '../support/companies/other-program.ts';
import { createApplication } from '../support/factories.ts';
import { outcomeOf } from '../support/outcome-of.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** A change that the company never reports, and what the audit then changes in the mirror. */
interface Loss {
  what: string;
  /** What is there before, and is in the mirror. */
  given?(program: OtherProgram): Promise<void> | void;
  lost(program: OtherProgram): Promise<void> | void;
  /** Lines of the mirror that come (`+`) and go (`-`). */
  repaired: (provider: Company['provider']) => string[];
}

const LOSSES: readonly Loss[] = [
  {
    what: 'a message that arrived',
    lost: (one) => one.deliver('News'),
    repaired: () => ['+ message News: inbox'],
  },
  {
    what: 'a message that was deleted',
    given: (one) => one.deliver('Old'),
    lost: (one) => one.remove('Old'),
    repaired: () => ['- message Old: inbox'],
  },
  {
    what: 'a message that was moved',
    given: async (one) => {
      one.createFolder('Plans');
      await one.deliver('Moved');
    },
    lost: (one) => one.move('Moved', 'Plans'),
    repaired: () => ['+ message Moved: Plans', '- message Moved: inbox'],
  },
  {
    what: 'a new folder with a message',
    given: (one) => one.deliver('Packed'),
    lost: (one) => {
      one.createFolder('Trips');
      one.move('Packed', 'Trips');
    },
    repaired: () => ['+ folder Trips', '+ message Packed: Trips', '- message Packed: inbox'],
  },
  {
    what: 'a folder that was renamed',
    given: (one) => one.createFolder('Thoughts'),
    lost: (one) => one.renameFolder('Thoughts', 'Ideas'),
    repaired: () => ['+ folder Ideas', '- folder Thoughts'],
  },
  {
    what: 'a folder that was deleted',
    given: async (one) => {
      one.createFolder('Dropped');
      await one.deliver('Inside');
      one.move('Inside', 'Dropped');
    },
    lost: (one) => one.removeFolder('Dropped'),
    repaired: (provider) => [
      ...(provider === 'google' ? ['+ message Inside: '] : []),
      '- folder Dropped',
      '- message Inside: Dropped',
    ],
  },
  {
    what: 'an event that was created',
    lost: (one) => one.addEvent('Lunch', 1),
    repaired: () => ['+ event Lunch: 1'],
  },
  {
    what: 'an event that was changed',
    given: (one) => one.addEvent('Talk', 2),
    lost: (one) => one.renameEvent('Talk', 'Long talk'),
    repaired: () => ['+ event Long talk: 2', '- event Talk: 2'],
  },
  {
    what: 'an event that was deleted',
    given: (one) => one.addEvent('Cancelled', 3),
    lost: (one) => one.removeEvent('Cancelled'),
    repaired: () => ['- event Cancelled: 3'],
  },
  {
    what: 'an instance of a series that was changed',
    given: (one) => one.addEvent('Daily', 5, 3),
    lost: (one) => one.renameInstance('Daily', 1, 'Special'),
    repaired: () => ['+ event Special: 6', '- event Daily: 6'],
  },
  {
    what: 'an instance of a series that was deleted',
    given: (one) => one.addEvent('Nightly', 10, 3),
    lost: (one) => one.removeInstance('Nightly', 1),
    repaired: () => ['- event Nightly: 11'],
  },
  {
    what: 'a contact that was created',
    lost: (one) => one.addContact('Newcomer'),
    repaired: () => ['+ contact Newcomer'],
  },
  {
    what: 'a contact that was changed',
    given: (one) => one.addContact('Before'),
    lost: (one) => one.renameContact('Before', 'After'),
    repaired: () => ['+ contact After', '- contact Before'],
  },
  {
    what: 'a contact that was deleted',
    given: (one) => one.addContact('Stranger'),
    lost: (one) => one.removeContact('Stranger'),
    repaired: () => ['- contact Stranger'],
  },
];

/** All changes are lost together, so that one audit repairs them all. */
describe.each(COMPANIES)('the audit of an account at $title that missed changes', (company) => {
  const clock = new PassingClock();
  let stub: CompanyStub;
  let server: TestApp;
  let isLosing = false;
  let shownAtFirst: string[];
  let shownBefore: string[];
  let shownSoon: string[];
  let shownAfter: string[];
  let account: { id: string; bearer: Record<string, string> };

  beforeAll(async () => {
    stub = await company.start(() => clock.now().getTime());
    server = await startTestApp({ ...stub.environment, ROLES: 'api', ...PLENTY }, { clock });
    loseChanges(server, company.provider, () => isLosing);
    const email = `ann@${company.domain}`;
    stub.addUser(email, 'Ann');
    const program = otherProgram(stub, email);
    for (const { given } of LOSSES) await given?.(program);
    account = await connect(email);
    await settle();
    shownAtFirst = await shown();
    for (const { lost } of LOSSES) await lost(program);
    isLosing = true;
    await settle();
    isLosing = false;
    await settle();
    shownBefore = await shown();
    await audit();
    shownSoon = await shown();
    // Calendars and contacts are listed a second time one after the other, an hour each.
    for (let hours = 0; hours < 3; hours += 1) {
      await clock.pass(3_601_000);
      await settle();
    }
    shownAfter = await shown();
  });
  afterAll(async () => {
    await server.close();
    await stub.stop();
  });

  async function connect(email: string) {
    const application = await createApplication(server.app);
    const post = async (path: string, body: object) => {
      const sent = request(server.url).post(path).set(application.basic).send(body);
      const { data } = (await sent.expect(200)).body as { data: unknown };
      return data as { id: string; access_token: string };
    };
    const { provider } = company;
    const settings = {
      [`${provider}_refresh_token`]: stub.refreshToken(email, ['mail', 'calendar', 'contacts']),
    };
    await post('/connect/integrations', { name: 'Test', provider, settings: stub.client });
    const { id, access_token: token } = await post('/connect/grants', { provider, settings });
    return { id, bearer: { authorization: `Bearer ${token}` } };
  }
  /** Runs sync passes over everything until the account waits for its next poll. */
  async function settle(): Promise<void> {
    await rows(
      `update sync_job set calendars_at = 'epoch', contacts_at = 'epoch' where account_id = $1`,
    );
    const dispatcher = server.app.get(MailboxSyncDispatcher);
    for (let runs = 0; runs < 30; runs++) {
      // A pass that was requested just now would be repeated after 5 and 30 s.
      await rows(`update sync_job set active_at = 'epoch' where account_id = $1`);
      const before = clock.now().getTime();
      const { next } = outcomeOf(await syncAccount(server.app, dispatcher, account.id));
      if (next.kind === 'again' && next.at.getTime() > before + 5_000) return;
    }
    throw new Error('the sync passes do not end');
  }
  const rows = <T extends object>(text: string) =>
    server.app.get(Database).query<T>(text, [account.id]);
  const list = async (path: string) => {
    const { body } = await request(server.url).get(path).set(account.bearer).expect(200);
    return body as Record<string, unknown>[];
  };
  /** The mirror as clients see it. */
  async function shown(): Promise<string[]> {
    const unit = `${company.organizationUnit}s`;
    const folders = await list(`/${unit}`);
    const nameOf = (one: { name: string | null; display_name: string }) =>
      one.name ?? one.display_name;
    const messages = await list('/messages?limit=100');
    const [calendar] = await list('/calendars');
    const events = await list(
      `/events?calendar_id=${String(calendar?.['id'])}&starts_after=1893456000&expand_recurring=true&limit=100`,
    );
    const contacts = await list('/contacts?limit=100');
    return [
      ...folders.map((one) => `folder ${nameOf(one as never)}`),
      ...messages.map((one) => {
        const places = (one[unit] ?? [one['folder']]) as never[];
        const names = places.map(nameOf).filter((name) => name !== 'all');
        return `message ${String(one['subject'])}: ${names.join(', ')}`;
      }),
      ...events.map(({ title, when }) => {
        const { start_time: start } = when as { start_time: number };
        return `event ${String(title)}: ${new Date(start * 1000).getUTCDate()}`;
      }),
      ...contacts.map((one) => `contact ${String(one['given_name'])}`),
    ].toSorted();
  }
  const audit = async () => {
    await rows(
      `update mirror_audit set recent_at = now(), full_at = now(), collections_at = now() where account_id = $1`,
    );
    await settle();
  };

  it('changes nothing before the audit, because no change was reported', () => {
    expect(shownBefore).toEqual(shownAtFirst);
  });

  it('removes nothing before an hour has passed', () => {
    const gone = difference(shownBefore, shownSoon).filter((line) => line.startsWith('- '));
    expect(gone.filter((line) => /Old|folder Dropped|Cancelled|Stranger/.test(line))).toEqual([]);
  });

  it.each(LOSSES)('repairs $what', ({ repaired }) => {
    const found = difference(shownBefore, shownAfter);
    expect(found).toEqual(expect.arrayContaining(repaired(company.provider)));
  });

  it('repairs nothing else, and the account is healthy', async () => {
    const repaired = LOSSES.flatMap((loss) => loss.repaired(company.provider));
    expect(difference(shownBefore, shownAfter).toSorted()).toEqual(repaired.toSorted());
    const { body } = await request(server.url).get('/account').set(account.bearer);
    // Google keeps the message of a deleted label.
    const kept = company.provider === 'google' ? 1 : 0;
    const messages = { missing: 1, surplus: 2 - kept, misplaced: 2 + kept };
    const total = { differences_found: 5, repaired: 5, unrepaired: 0, folders_skipped: 0 };
    const contacts = { missing: 1, surplus: 1, changed: 1, repaired: 3, skipped: 0 };
    const mirror = { ...messages, ...total, contacts, events: { skipped: 0 } };
    expect(body).toMatchObject({ sync_state: 'running', mirror });
  });
});

/** Quotas that these tests do not use up. */
const PLENTY = {
  GMAIL_UNITS_PER_ACCOUNT: '1000000',
  GRAPH_REQUESTS_PER_ACCOUNT: '1000000',
  GRAPH_MESSAGES_PER_ACCOUNT: '1000000',
};

/** Lines that came and lines that went. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const without = (lines: readonly string[], others: readonly string[]) =>
    lines.filter((line) => !others.includes(line));
  return [
    ...without(after, before).map((line) => `+ ${line}`),
    ...without(before, after).map((line) => `- ${line}`),
  ];
}

/** From now on, changes that a provider reports are lost while `isLosing`. The cursors go on. */
function loseChanges({ app }: TestApp, provider: string, isLosing: () => boolean): void {
  const registry = app.get(ConnectorRegistry);
  const whole = registry.require(provider);
  const nothing: Record<string, object> = {
    listChanges: { folders: null, renamed: [], messages: [], removed: [] },
    listEventChanges: { events: [], excluded: [], removed: [], present: null },
    listContactChanges: { contacts: [], removed: [], present: null },
  };
  const losing = <T extends object>(port: T): T =>
    through(port, (name, method) => {
      const lost = nothing[name];
      if (!lost) return method;
      return async (...given) => {
        const changes = (await method(...given)) as object;
        return isLosing() ? { ...changes, ...lost } : changes;
      };
    });
  const { mail, calendar, contacts } = whole;
  const ports: Partial<Record<string, object>> = {
    ...(mail && { mail: losing(mail) }),
    ...(calendar && { calendar: losing(calendar) }),
    ...(contacts && { contacts: losing(contacts) }),
  };
  registry.replace(through<Connector>(whole, (_name, method) => method, ports));
}

type Method = (...given: unknown[]) => unknown;

/** The same object, with some methods and properties replaced. */
const through = <T extends object>(
  object: T,
  change: (name: string, method: Method) => Method,
  properties: Partial<Record<string, object>> = {},
): T =>
  new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      const replaced = properties[String(name)];
      if (replaced) return replaced;
      return typeof member === 'function' ? change(String(name), member.bind(target)) : member;
    },
  });
