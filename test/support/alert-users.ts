import request from 'supertest';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { sealGrantTokens } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { TokenRefresh } from '../../src/accounts/grants/credentials/token-refresh.ts';
import type { AlertWorld } from './alert-world.ts';
import { rowsOf } from './connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from './factories.ts';
import { Receiver, type ReceiverBehaviour } from './receiver.ts';
import { ScriptedSmtp, type SmtpScript } from './scripted-smtp.ts';

/** Nothing listens there. */
const CLOSED_PORT = 1;
const REMINDED_SECONDS = 70;

/** An application with accounts, and the servers around it that tests break. */
export class AlertUsers {
  readonly #opened: { stop(): Promise<void> }[] = [];

  private constructor(
    private readonly world: AlertWorld,
    readonly application: TestApplication,
    /** Her mailbox is mirrored. */
    readonly ada: TestAccount,
  ) {}

  static async begin(world: AlertWorld): Promise<AlertUsers> {
    const { app } = world.server;
    const application = await createApplication(app);
    const ada = await createAccount(app, application, { mirrored: true });
    return new AlertUsers(world, application, ada);
  }

  async end(): Promise<void> {
    for (const server of this.#opened) await server.stop();
  }

  /** Sends a message over HTTP. */
  async send(
    account: TestAccount,
    email = 'bo@example.test',
    more: Record<string, unknown> = {},
  ): Promise<void> {
    await request(this.world.server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({ to: [{ email, name: '' }], subject: 'Hi', body: 'Hi', ...more })
      .expect(202);
  }

  /** Starts a receiver of webhooks. */
  async receive(behave?: ReceiverBehaviour): Promise<Receiver> {
    const receiver = await Receiver.start();
    this.#stopAtEnd(receiver);
    if (behave) receiver.behave = behave;
    return receiver;
  }

  /** An account of a mail server that follows a script. Its mailbox cannot be reached. */
  async mailAccount(script: SmtpScript, mirrored = false): Promise<TestAccount> {
    const smtp = await ScriptedSmtp.start(script);
    this.#stopAtEnd(smtp);
    const settings = (kind: string, port: number) => ({
      [`${kind}_host`]: '127.0.0.1',
      [`${kind}_port`]: port,
      [`${kind}_security`]: 'none',
      [`${kind}_username`]: 'ada',
      [`${kind}_password`]: 'a password of this test',
    });
    return createAccount(this.world.server.app, this.application, {
      provider: 'imap',
      mirrored,
      settings: { ...settings('imap', CLOSED_PORT), ...settings('smtp', smtp.port) },
    });
  }

  /** Gives Ada an event whose reminder is due in a few seconds. */
  async remind(): Promise<void> {
    const { url } = this.world.server;
    const post = (path: string, body: object) =>
      request(url).post(path).set(this.ada.bearer).send(body).expect(200);
    const { body: calendar } = await post('/calendars', { name: 'Work' });
    const begins = Math.floor(this.world.clock.now().getTime() / 1000) + REMINDED_SECONDS;
    await post('/events', {
      calendar_id: calendar.id,
      title: 'Review',
      when: { time: String(begins) },
      participants: [{ email: 'bo@sandbox.test', name: 'Bo' }],
      notifications: [{ type: 'email', minutes_before_event: '1', subject: 'Soon', body: 'Soon' }],
    });
  }

  /** Starts an authorization server and registers it with the application. */
  async issuer(): Promise<FailingIssuer> {
    const issuer = new FailingIssuer(this.world, this.application, await this.receive());
    await issuer.register();
    return issuer;
  }

  /** A server that has been stopped already is left alone. */
  #stopAtEnd(server: { stop(): Promise<void> }): void {
    this.#opened.push({ stop: () => server.stop().catch(() => undefined) });
  }
}

/** An authorization server that refreshes no tokens. */
export class FailingIssuer {
  answer = { status: 503, error: 'temporarily_unavailable' };

  constructor(
    private readonly world: AlertWorld,
    private readonly application: TestApplication,
    private readonly receiver: Receiver,
  ) {
    const { origin } = receiver;
    const metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
    };
    receiver.behave = (response, { url }) => {
      const isToken = url === '/token';
      const { status, error } = this.answer;
      response.writeHead(isToken ? status : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isToken ? { error } : metadata));
    };
  }

  async register(): Promise<void> {
    await request(this.world.server.url)
      .post('/connect/integrations')
      .set(this.application.basic)
      .send({
        name: 'Mail',
        provider: 'imap',
        settings: {
          client_id: 'carillon',
          client_secret: 'a client secret of this test',
          issuer: this.receiver.origin,
          imap_host: '127.0.0.1',
          smtp_host: '127.0.0.1',
        },
      })
      .expect(200);
  }

  /** Tries to refresh the tokens of three new accounts. */
  async refreshThree(): Promise<void> {
    const { app } = this.world.server;
    for (let n = 0; n < 3; n++) {
      const { id } = await createAccount(app, this.application, { provider: 'imap' });
      const now = this.world.clock.now().getTime();
      const tokens = {
        accessToken: newId(),
        refreshToken: newId(),
        obtainedAt: now,
        expiresAt: now,
      };
      const sealed = sealGrantTokens(app.get(SecretBox), id, tokens);
      await rowsOf(
        this.world.server,
        'update "grant" set tokens_sealed = $2, token_version = 1 where id = $1',
        [id, sealed],
      );
      await expect(app.get(TokenRefresh).refresh(id)).rejects.toThrow();
    }
  }
}
