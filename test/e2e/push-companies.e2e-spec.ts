import request from 'supertest';
import { PushUpkeep } from '../../src/accounts/push/push-upkeep.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { listWatches } from '../../src/sync/watches/list-watches.ts';
import { COMPANIES } from '../support/companies/companies.ts';
import { type Company, type CompanyStub, plainMessage } from '../support/companies/company.ts';
import {
  type CompanyAccount,
  connectCompany,
  registerCompany,
} from '../support/companies/connected.ts';
import { google, type GoogleCompanyStub } from '../support/companies/google-company.ts';
import { microsoft, type MicrosoftCompanyStub } from '../support/companies/microsoft-company.ts';
import { rowsOf } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { claimsOf, keyPair, signedJwt } from '../support/google/oauth/keys.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { Receiver, type ReceivedRequest } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** The server's address in the eyes of the companies. */
const PUBLIC = 'https://carillon.example.com';
const TOPIC = 'projects/p/topics/gmail';
const KEPT_TOPIC = 'projects/p/topics/kept';
const KEPT = 'projects/p/subscriptions/kept';
const PUSHER = 'push@stub.iam.gserviceaccount.com';
const DAY_MS = 86_400_000;

/** A request to the server's address for notifications. */
interface Notice {
  headers: Record<string, string>;
  body: string;
}

/** Changes are read after an hour at the earliest, unless the company reports them. */
const POLLS = { SYNC_POLL_SECONDS: '3600', SYNC_POLL_WATCHED_SECONDS: '7200' };

describe('changes that Google and Microsoft report', () => {
  const clock = new PassingClock();
  const accounts = new Map<Company['provider'], CompanyAccount>();
  let atGoogle: GoogleCompanyStub;
  let atMicrosoft: MicrosoftCompanyStub;
  let server: TestApp;
  let application: TestApplication;
  /** Pulls the notifications of Gmail. */
  let pulling: TestApplication;
  let receiver: Receiver;
  /** Gets the notifications that do not reach the server. */
  let catcher: Receiver;

  const worldOf = ({ provider }: Pick<Company, 'provider'>): CompanyStub =>
    provider === 'google' ? atGoogle : atMicrosoft;

  beforeAll(async () => {
    const now = () => clock.now().getTime();
    [atGoogle, atMicrosoft] = await Promise.all([google.start(now), microsoft.start(now)]);
    [receiver, catcher] = await Promise.all([Receiver.start(), Receiver.start()]);
    const environment = { ...atGoogle.environment, ...atMicrosoft.environment, ...POLLS };
    server = await startTestApp({ ...environment, PUSH_URL: PUBLIC }, { clock });
    for (const world of [atGoogle, atMicrosoft]) world.redirect(PUBLIC, server.url);
    application = await createApplication(server.app);
    await registerCompany(server, application, microsoft, atMicrosoft);
    const id = await registerCompany(server, application, google, atGoogle, {
      pubsub_topic: TOPIC,
      pubsub_push_account: PUSHER,
    });
    const { pubsub, oauth } = atGoogle.stub;
    pubsub.subscribe('projects/p/subscriptions/pushed', TOPIC, {
      endpoint: `${PUBLIC}/push/google/${id}`,
      serviceAccountEmail: PUSHER,
    });
    pubsub.subscribe(KEPT, KEPT_TOPIC);
    pulling = await createApplication(server.app);
    await registerCompany(server, pulling, google, atGoogle, {
      pubsub_topic: KEPT_TOPIC,
      pubsub_subscription: KEPT,
      service_account_json: JSON.stringify(oauth.addServiceAccount([])),
    });
    await request(server.url)
      .post(`/a/${application.clientId}/webhooks`)
      .set(application.secretBasic)
      .send({
        callback_url: `${receiver.origin}/hook`,
        triggers: ['message.created', 'event.created'],
        state: 'active',
      })
      .expect(200);
    await Promise.all(
      COMPANIES.map(async (company) =>
        accounts.set(company.provider, await connect(company, `ann@${company.domain}`)),
      ),
    );
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([receiver, catcher, atGoogle, atMicrosoft].map((one) => one.stop()));
  });

  /** Connects a person, and waits until the company reports changes. */
  async function connect(company: Company, email: string, by = application) {
    const world = worldOf(company);
    world.addUser(email, 'Ann');
    const person = { email, rights: ['mail', 'calendar'] } as const;
    const one = await connectCompany(server, by, company, world, person);
    await until('the subscriptions', async () => {
      await upkeep();
      const { mail, calendars } = world.reportsUntil(email);
      return mail.length > 0 && calendars.length > 0;
    });
    await settled(one);
    return one;
  }
  /** The engine does the same every five seconds. */
  const upkeep = () => server.app.get(PushUpkeep).run();
  /** Waits until no pass and no work on subscriptions is under way or due soon. */
  const settled = ({ id }: CompanyAccount) =>
    until('the passes', async () => {
      await upkeep();
      // A pass that has found nothing is repeated within half a minute.
      const repeated = `
        select 1 from sync_job where account_id = $1 and worker_id is null
          and run_at between now() + interval '1 second' and now() + interval '31 seconds'`;
      if ((await rowsOf(server, repeated, [id])).length > 0) await clock.pass(5_000);
      const busy = await rowsOf(
        server,
        `select 1 from sync_job
         where account_id = $1 and (worker_id is not null or run_at < now() + interval '1 minute')
         union all
         select 1 from push_subscription
         where account_id = $1 and (lease_until is not null or due_at < now() + interval '1 minute')`,
        [id],
      );
      return busy.length === 0;
    });
  /** When the next pass is due, how many there were, and who is at work on one. */
  const passes = async ({ id }: CompanyAccount) => {
    const text = 'select run_at, fence, worker_id from sync_job where account_id = $1';
    type Row = { run_at: Date; fence: number; worker_id: string | null };
    const [row] = await rowsOf<Row>(server, text, [id]);
    return row!;
  };
  const appeared = async (
    { bearer }: CompanyAccount,
    path: '/messages' | '/events',
    title: string,
  ): Promise<string> => {
    const found = await until(`"${title}"`, async () => {
      const { body } = await request(server.url).get(path).set(bearer).expect(200);
      const all = body as { id: string; subject?: string; title?: string }[];
      return all.find((shown) => (shown.subject ?? shown.title) === title);
    });
    return found.id;
  };
  const deliver = (company: Company, { email }: CompanyAccount, subject: string) =>
    worldOf(company).deliver(email, plainMessage(email, subject));
  const plan = (company: Company, { email }: CompanyAccount, title: string) =>
    worldOf(company).plan(email, title);
  /** The list of `carillon watches`. */
  const watches = async ({ email }: CompanyAccount) => {
    const all = await listWatches(server.app.get(Database), clock.now(), 100);
    return all.filter(({ name }) => name === email);
  };

  /** Makes a change whose notifications get lost. @returns those notifications */
  async function lost(company: Company, change: () => Promise<void>): Promise<ReceivedRequest[]> {
    const world = worldOf(company);
    const before = catcher.received.length;
    world.redirect(PUBLIC, catcher.origin);
    await change();
    await until('the notification', async () => catcher.received.length > before);
    world.redirect(PUBLIC, server.url);
    return catcher.received.slice(before);
  }
  const noticeOf = ({ headers, body }: ReceivedRequest): Notice => {
    const sent = Object.entries(headers).filter(([name]) =>
      /^(authorization|content-type|x-goog-.*)$/.test(name),
    );
    return { headers: Object.fromEntries(sent) as Notice['headers'], body: body.toString() };
  };
  const post = async (path: string, { headers, body }: Notice): Promise<number> => {
    const answer = await fetch(server.url + path, { method: 'POST', headers, body });
    return answer.status;
  };

  /** How long the companies do not show what they have reported. */
  const showAfter = (ms: number) => {
    atGoogle.stub.habits.historyLagMs = ms;
    atMicrosoft.stub.settings.deltaLagMs = ms;
  };
  it.each([
    ['Gmail', 'a message', google, '/messages', deliver],
    ['Microsoft', 'a message', microsoft, '/messages', deliver],
    ['Microsoft', 'an event', microsoft, '/events', plan],
  ] as const)('appear although %s reports %s too early', async (_, what, company, path, change) => {
    const one = accounts.get(company.provider)!;
    const title = `Too early: ${what}`;
    await settled(one);
    showAfter(8_000);
    const before = await passes(one);
    await change(company, one, title);
    await until('the end of the first pass', async () => {
      const { fence, worker_id: worker } = await passes(one);
      return fence > before.fence && worker === null;
    });
    await clock.pass(31_000);
    await appeared(one, path, title);
    showAfter(0);
    const { run_at: at } = await until('the usual interval', async () => {
      const row = await passes(one);
      return row.run_at.getTime() - clock.now().getTime() > 60_000 && row;
    });
    expect(at.getTime()).toBeGreaterThan(clock.now().getTime());
  });

  describe.each(COMPANIES)('at $title', (company) => {
    let one: CompanyAccount;

    beforeEach(() => {
      one = accounts.get(company.provider)!;
    });

    it('appear with webhooks, and the operator sees what reports them', async () => {
      await deliver(company, one, 'Minutes');
      const message = await appeared(one, '/messages', 'Minutes');
      await worldOf(company).plan(one.email, 'Review');
      const event = await appeared(one, '/events', 'Review');
      for (const id of [message, event])
        await until('the webhook', async () =>
          receiver.received.some(({ body }) => body.includes(id)),
        );
      const notified = (await watches(one)).filter((watch) => watch.notifiedAt !== null);
      expect(notified.map(({ resource }) => resource.replace(/s?(:.*)?$/, ''))).toEqual(
        expect.arrayContaining(['mail', 'calendar']),
      );
      expect(new Set(notified.map(({ state }) => state))).toEqual(new Set(['live']));
    });

    it.each([
      ['a message', '/messages', deliver],
      ['an event', '/events', plan],
    ] as const)(
      'are read in one pass after a notification about %s, and not after forged ones',
      async (_, path, change) => {
        await settled(one);
        const title = `Forged${path}`;
        const captured = await lost(company, () => change(company, one, title));
        const before = await passes(one);
        for (const genuine of captured) {
          for (const [notice, status] of forgeries(noticeOf(genuine)))
            expect([notice, await post(genuine.url, notice)]).toEqual([notice, status]);
        }
        expect(await passes(one)).toEqual(before);
        const [genuine] = captured;
        expect(await post(genuine!.url, noticeOf(genuine!))).toBeLessThan(300);
        await appeared(one, path, title);
        await settled(one);
        expect((await passes(one)).fence).toBe(before.fence + 1);
      },
    );
  });

  /** Changed copies of a notification, each with the status of the answer to it. */
  function forgeries(genuine: Notice): [Notice, number][] {
    const { headers, body } = genuine;
    const withHeader = (name: string, value: string): Notice => ({
      headers: { ...headers, [name]: value },
      body,
    });
    const { authorization, 'x-goog-channel-id': channel } = headers;
    if (channel !== undefined)
      return [
        [withHeader('x-goog-channel-token', 'wrong'), 404],
        [withHeader('x-goog-channel-token', ''), 404],
        [withHeader('x-goog-channel-id', 'of-nobody'), 404],
      ];
    if (authorization !== undefined) {
      const claims = claimsOf(authorization.replace('Bearer ', ''));
      const { oauth } = atGoogle.stub;
      return [
        [withHeader('authorization', `Bearer ${signedJwt(keyPair(), claims ?? {})}`), 401],
        [withHeader('authorization', `Bearer ${oauth.signed({ ...claims, aud: PUBLIC })}`), 401],
        [
          withHeader('authorization', `Bearer ${oauth.signed({ ...claims, email: 'x@y.test' })}`),
          401,
        ],
        [withHeader('authorization', ''), 404],
      ];
    }
    const changed = (change: object): Notice => {
      const { value } = JSON.parse(body) as { value: object[] };
      return {
        headers,
        body: JSON.stringify({ value: value.map((entry) => ({ ...entry, ...change })) }),
      };
    };
    // Graph repeats what is refused, and stops after 202.
    return [
      [changed({ clientState: 'wrong' }), 202],
      [changed({ clientState: null }), 202],
      [changed({ subscriptionId: 'of-nobody' }), 202],
    ];
  }

  describe('at Microsoft', () => {
    const watched = () => {
      const { email } = accounts.get('microsoft')!;
      const { all } = atMicrosoft.stub.world.subscriptions;
      return all.find((one) => one.user.email === email && one.watched.kind === 'messages')!;
    };
    const notify = (event: Parameters<typeof atMicrosoft.stub.world.subscriptions.lifecycle>[1]) =>
      atMicrosoft.stub.world.subscriptions.lifecycle(watched().id, event);

    it('are subscribed to with a token that comes back as plain text, whatever is in it', async () => {
      const token = '<b>Validation</b> +&é';
      const url = `${server.url}/push/microsoft?validationToken=${encodeURIComponent(token)}`;
      const answer = await fetch(url, { method: 'POST' });
      expect([answer.status, await answer.text()]).toEqual([200, token]);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain\b/);
    });

    it('appear after Microsoft says that it has not reported them', async () => {
      const one = accounts.get('microsoft')!;
      await lost(microsoft, () => deliver(microsoft, one, 'Missed'));
      await notify('missed');
      await appeared(one, '/messages', 'Missed');
    });

    it('are reported further after Microsoft asks for the authorization again', async () => {
      const { id } = watched();
      await notify('reauthorizationRequired');
      await upkeep();
      await until('the renewal', async () => !watched().needsReauthorization);
      expect(watched().id).toBe(id);
    });

    it('appear after Microsoft has removed the subscription, which is made anew', async () => {
      const one = accounts.get('microsoft')!;
      await lost(microsoft, () => deliver(microsoft, one, 'Removed'));
      await notify('subscriptionRemoved');
      await appeared(one, '/messages', 'Removed');
      await upkeep();
      await until('a new subscription', async () => watched());
      await settled(one);
      await deliver(microsoft, one, 'After it');
      await appeared(one, '/messages', 'After it');
    });
  });

  it('appear if Pub/Sub keeps those of Gmail until they are pulled', async () => {
    const one = await connect(google, 'bo@gmail.test', pulling);
    await deliver(google, one, 'Pulled');
    await appeared(one, '/messages', 'Pulled');
    const ofMail = (await watches(one)).filter(({ resource }) => resource === 'mail');
    expect(ofMail).toMatchObject([{ state: 'live', failures: 0 }]);
  });

  describe('after a time in which all subscriptions would have ended', () => {
    beforeAll(async () => {
      for (const days of [4, 4]) {
        await clock.pass(days * DAY_MS);
        const later = clock.now().getTime() + 5 * DAY_MS;
        for (const company of COMPANIES) {
          const one = accounts.get(company.provider)!;
          await until(`the renewal at ${company.title}`, async () => {
            await upkeep();
            const { mail, calendars } = worldOf(company).reportsUntil(one.email);
            return [mail, calendars].every((ends) => ends.some((end) => end.getTime() > later));
          });
          await settled(one);
        }
      }
    });

    it.each(COMPANIES)('are still reported by $title', async (company) => {
      const one = accounts.get(company.provider)!;
      await deliver(company, one, 'A week later');
      await appeared(one, '/messages', 'A week later');
      await worldOf(company).plan(one.email, 'Retrospective');
      await appeared(one, '/events', 'Retrospective');
    });

    it.each(COMPANIES)(
      'are no longer reported by $title when the account is removed',
      async (company) => {
        const one = accounts.get(company.provider)!;
        await request(server.url)
          .delete(`/connect/grants/${one.id}`)
          .set(application.basic)
          .expect(200);
        await until('the end of the subscriptions', async () => {
          const { mail, calendars } = worldOf(company).reportsUntil(one.email);
          return mail.length + calendars.length === 0;
        });
        expect(await watches(one)).toEqual([]);
      },
    );
  });
});
