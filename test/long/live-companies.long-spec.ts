import fs from 'node:fs';
import { COMPANIES } from '../support/companies/companies.ts';
import type { Company, CompanyStub } from '../support/companies/company.ts';
import { google } from '../support/companies/google-company.ts';
import { microsoft } from '../support/companies/microsoft-company.ts';
import type { LiveRecord } from '../../scripts/live/behaviours/record.ts';
import { dataFolderOf, LIVE_PATIENCE_MS, LiveRun } from '../support/live-run.ts';
import type { ScriptResult } from '../support/npm-script.ts';

/** What only one company's run prints. The calendar may or may not be subscribed to by then. */
const ENDS = {
  google: ['✓ Google reports changes (subscriptions: ', '✓ Google has revoked the tokens'],
  microsoft: ['https://myapps.microsoft.com'],
};
/**
 * Gmail has one copy of a message to oneself, Exchange one in the inbox and one in Sent. Two of
 * Gmail's behaviours are tried with a message of their own.
 */
const SENT_TO_TRASH = { google: 4, microsoft: 4 };
/** What the emulators do, by the names of the behaviours. */
const SEEN = {
  google: {
    'gmail-message-id': 'yes',
    'gmail-labels-before-message': 'no',
    'google-blocked-application': 'open',
    'people-late-writes': 'no',
    'people-other-parameters': 'no',
    'people-first-page-quota': 'no',
    'gmail-old-project': 'no',
  },
  microsoft: {
    'outlook-changes-ids': 'open',
    'graph-delta-repeats': 'open',
    'graph-calendar-subscription': 'open',
    'graph-repeated-transaction-id': 'yes',
  },
};
const TOPIC = 'projects/p/topics/gmail';
const SUBSCRIPTION = 'projects/p/subscriptions/pulled';

describe('npm run live with accounts of Google and Microsoft', () => {
  const runs: { stop(): Promise<void> }[] = [];
  /** Runs with all steps. They mostly wait, so they begin before the other tests. */
  const whole = new Map<string, { run: LiveRun<CompanyStub>; result: Promise<ScriptResult> }>();

  const prepare = async <C extends CompanyStub>(company: Company<C>) => {
    const run = await LiveRun.prepare(company);
    runs.push(run);
    return run;
  };
  const walk = async <C extends CompanyStub>(run: LiveRun<C>, settings: object) => {
    const live = run.start({ LIVE_SETTINGS: JSON.stringify(settings) }, ['--record']);
    await run.signIn(live);
    whole.set(run.company.provider, { run, result: live.ended });
  };

  beforeAll(async () => {
    const [atGoogle, atMicrosoft] = await Promise.all([prepare(google), prepare(microsoft)]);
    const { stub } = atGoogle.world;
    stub.pubsub.subscribe(SUBSCRIPTION, TOPIC);
    const pull = {
      pubsub_topic: TOPIC,
      pubsub_subscription: SUBSCRIPTION,
      service_account_json: JSON.stringify(stub.oauth.addServiceAccount([])),
    };
    await Promise.all([walk(atGoogle, pull), walk(atMicrosoft, {})]);
  }, LIVE_PATIENCE_MS);
  afterAll(async () => {
    await Promise.all(runs.map((run) => run.stop()));
  });

  it.each(COMPANIES)(
    'names the steps that the scopes of a $title account do not allow',
    async (company) => {
      const run = await prepare<CompanyStub>(company);
      const live = run.start({
        LIVE_REFRESH_TOKEN: run.world.refreshToken(run.email, ['read mail', 'contacts']),
        LIVE_SCOPES: 'email.read_only,contacts',
      });
      const result = await live.ended;
      expect(result.output).toContain('✓ the contact is deleted');
      expect(result.output).toMatch(
        /Not checked: A message to oneself; .*; An event and free\/busy/,
      );
      expect(result.code).toBe(0);
      expect(run.leakedSecrets(result)).toEqual([]);
    },
    LIVE_PATIENCE_MS,
  );

  it.each(COMPANIES)(
    'says what to do if $title refuses the client',
    async (company) => {
      const run = await prepare<CompanyStub>(company);
      const live = run.start({
        LIVE_REFRESH_TOKEN: run.world.refreshToken(run.email, ['mail']),
        LIVE_CLIENT_SECRET: 'wrong-secret',
      });
      const result = await live.ended;
      expect(result.output).toContain('Check the client id and the client secret');
      expect(result.code).toBe(1);
      expect(run.leakedSecrets(result)).toEqual([]);
    },
    LIVE_PATIENCE_MS,
  );

  it(
    'asks for the consent of an administrator if a tenant of Microsoft needs it',
    async () => {
      const run = await prepare(microsoft);
      const refreshToken = run.world.refreshToken(run.email, ['mail']);
      run.world.stub.withdrawConsent(run.email);
      const { code, output } = await run.start({ LIVE_REFRESH_TOKEN: refreshToken }).ended;
      expect(output).toContain('/common/adminconsent?client_id=app');
      expect(code).toBe(1);
    },
    LIVE_PATIENCE_MS,
  );

  it(
    'says where to enable an API of Google that is not enabled',
    async () => {
      const run = await prepare(google);
      run.world.stub.faults.add({
        match: ({ path }) => path.startsWith('/v1/people'),
        times: Infinity,
        answer: {
          status: 403,
          body: {
            error: {
              code: 403,
              message: 'People API has not been used in project 1 before or it is disabled.',
              status: 'PERMISSION_DENIED',
              details: [
                {
                  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
                  reason: 'SERVICE_DISABLED',
                  domain: 'googleapis.com',
                },
              ],
            },
          },
        },
      });
      const live = run.start({
        LIVE_REFRESH_TOKEN: run.world.refreshToken(run.email, ['contacts']),
        LIVE_SCOPES: 'contacts',
      });
      const { code, output } = await live.ended;
      expect(output).toContain('enable the Gmail API, the Google Calendar API and the People API');
      expect(output).toContain('Failed: A contact');
      expect(code).toBe(1);
    },
    LIVE_PATIENCE_MS,
  );

  it.each(COMPANIES)(
    'checks everything after a sign-in at $title, stores nothing, and leaves only messages of its own in the trash',
    async ({ provider }) => {
      const { run, result } = whole.get(provider)!;
      const ended = await result;
      expect(ended.output).toMatch(/All \d+ checks are true/);
      expect(ended.code).toBe(0);
      expect(ended.output).toContain(`signed in as ${run.email}`);
      expect(ended.output).toContain('✓ a new access token');
      for (const line of ENDS[provider]) expect(ended.output).toContain(line);
      const [, file = ''] = /recorded in (\S+)/.exec(ended.output) ?? [];
      const record = fs.readFileSync(file, 'utf8');
      const { isEmulated, observations } = JSON.parse(record) as LiveRecord;
      expect(isEmulated).toBe(true);
      expect(Object.fromEntries(observations.map(({ name, answer }) => [name, answer]))).toEqual(
        SEEN[provider],
      );
      for (const own of [
        run.email,
        'Ann',
        'Hello',
        ...run.world.messages(run.email).map(({ thread }) => thread),
      ])
        expect([own, record.includes(own)]).toEqual([own, false]);
      expect(ended.output).toMatch(/^\| \S+ \| .+\? \| (yes|no|open) \| .+ \|$/m);
      expect(run.leakedSecrets(ended)).toEqual([]);
      expect(fs.existsSync(dataFolderOf(ended.output))).toBe(false);
      const messages = run.world.messages(run.email);
      const inTrash = messages.filter(({ places }) => places.includes('trash'));
      expect(inTrash).toHaveLength(SENT_TO_TRASH[provider]);
      const others = messages.filter((message) => !inTrash.includes(message));
      expect(others).toMatchObject([{ subject: 'Hello', places: ['inbox'] }]);
      expect(run.world.ownFolders(run.email)).toEqual([]);
      expect(run.world.events(run.email)).toEqual([]);
      expect(run.world.contacts(run.email)).toBe(0);
    },
    LIVE_PATIENCE_MS,
  );
});
