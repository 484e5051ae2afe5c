import { freePorts } from '../support/mail-servers/processes.ts';
import { MicrosoftStub } from '../support/microsoft/microsoft-stub.ts';
import { type RunningScript, type ScriptResult, startScript } from '../support/npm-script.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

/** A server starts, and the run waits for mail to be sent at a time. */
const PATIENCE_MS = 400_000;
const ANN = 'ann@contoso.test';
const HELLO = [
  'From: bo@elsewhere.test',
  `To: ${ANN}`,
  'Subject: Hello',
  'Message-ID: <hello@elsewhere.test>',
  '',
  'Hello',
  '',
].join('\r\n');

describe('npm run live -- microsoft', () => {
  let stub: MicrosoftStub;
  let port: string;
  let running: RunningScript | undefined;

  beforeEach(async () => {
    port = String((await freePorts(1))[0]);
    stub = await MicrosoftStub.start();
    stub.addUser(ANN, { displayName: 'Ann' });
    await stub.put(ANN, HELLO);
  });
  afterEach(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
    running = undefined;
    await stub.stop();
    expectDocumented(stub);
  });

  const start = (environment: Record<string, string> = {}): RunningScript => {
    running = startScript('live', ['microsoft', '--yes'], {
      PORT: port,
      LIVE_CLIENT_ID: 'app',
      LIVE_CLIENT_SECRET: 'app-secret',
      MICROSOFT_LOGIN_URL: stub.origin,
      MICROSOFT_GRAPH_URL: stub.origin,
      EGRESS_ALLOW: '127.0.0.0/8',
      ...environment,
    });
    return running;
  };
  /** Signs in on the printed page as Ann would: at Microsoft, and then she agrees. */
  async function signIn(live: RunningScript): Promise<void> {
    const output = await live.printed(/sign in: \S+\n/);
    const browser = new PageBrowser({ url: `http://localhost:${port}` });
    await browser.get(/sign in: (\S+)/.exec(output)?.[1] ?? '');
    await browser.submit('provider');
    const answer = await fetch(browser.page.location ?? '', { redirect: 'manual' });
    await browser.get(answer.headers.get('location') ?? '');
    if (browser.page.location?.startsWith('/')) await browser.get(browser.page.location);
    await browser.submit('consent');
    await fetch(browser.page.location ?? '');
  }
  const folders = () => [...stub.user(ANN).mailbox.folders.values()];
  const expectNoSecret = ({ output }: ScriptResult) => expect(output).not.toContain('app-secret');

  it(
    'checks everything after a sign-in in the browser, and leaves only two messages in the trash',
    async () => {
      const before = folders().length;
      const live = start();
      await signIn(live);
      const result = await live.ended;
      expect(result.output).toMatch(/All \d+ checks are true/);
      expect(result.code).toBe(0);
      expectNoSecret(result);
      expect(result.output).toContain(`signed in as ${ANN}`);
      expect(result.output).toContain('✓ a new access token');
      expect(result.output).toContain('https://myapps.microsoft.com');
      const { mailbox } = stub.user(ANN);
      const count = (folder: string) => mailbox.messagesIn(mailbox.folderId(folder)).size;
      // Each of the two messages has a copy in the inbox and one in Sent.
      expect(['inbox', 'sentitems', 'drafts', 'deleteditems'].map(count)).toEqual([1, 0, 0, 4]);
      expect(folders()).toHaveLength(before);
    },
    PATIENCE_MS,
  );

  it(
    'checks what the scopes allow, and names the steps that were left out',
    async () => {
      const scopes = [
        'openid',
        'profile',
        'email',
        'offline_access',
        'User.Read',
        'Contacts.ReadWrite',
      ];
      const { refreshToken } = stub.tokensFor(ANN, [...scopes, 'Mail.Read']);
      const live = start({
        LIVE_REFRESH_TOKEN: refreshToken,
        LIVE_SCOPES: 'email.read_only,contacts',
      });
      const { code, output } = await live.ended;
      expect(output).toContain('✓ the contact is deleted');
      expect(output).toMatch(/Not checked: A message to oneself; .*; An event and free\/busy/);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );

  it(
    'says what to do if Microsoft refuses the client',
    async () => {
      const { refreshToken } = stub.tokensFor(ANN, ['Mail.ReadWrite']);
      const environment = { LIVE_REFRESH_TOKEN: refreshToken, LIVE_CLIENT_SECRET: 'wrong' };
      const { code, output } = await start(environment).ended;
      expect(output).toContain('AADSTS7000215');
      expect(output).toContain('Check the client id and the client secret');
      expect(code).toBe(1);
    },
    PATIENCE_MS,
  );

  it(
    'asks for the consent of an administrator if the tenant needs it',
    async () => {
      const { refreshToken } = stub.tokensFor(ANN, ['Mail.ReadWrite']);
      stub.withdrawConsent(ANN);
      const { code, output } = await start({ LIVE_REFRESH_TOKEN: refreshToken }).ended;
      expect(output).toContain('/common/adminconsent?client_id=app');
      expect(code).toBe(1);
    },
    PATIENCE_MS,
  );
});
