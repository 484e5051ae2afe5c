import { randomBytes } from 'node:crypto';
import { createApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/platform/config/app-config.ts';
import { SqlPool } from '../../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../../support/factories.ts';
import { ScriptedSmtp } from '../../support/scripted-smtp.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { FakeImap, type FakeImapOptions } from './fake-imap.ts';
import { watch, type Watched } from './watch.ts';

/** The response to a request. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The body parsed as JSON, or its text if it is not JSON. */
  body: unknown;
}

/** The attacker's own mail servers. */
export interface HostileMailbox {
  imap: FakeImap;
  smtp: ScriptedSmtp;
  /** Settings that connect an account of provider `imap`. */
  settings: Record<string, string | number>;
}

/**
 * The built program in its own process, so that its memory and pauses can be measured. It has a
 * database, an application and a second account that should notice nothing. Run `npm run build`
 * before a single suite; `npm test` does it itself.
 */
export class AttackedServer {
  readonly #closing: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly process: ServerProcess,
    readonly application: TestApplication,
    /** A sandbox account of the same application. */
    readonly bystander: TestAccount,
    readonly sql: SqlPool,
  ) {}

  /**
   * @param environment variables besides the usual ones, which allow loopback and set no request
   *   rate limits
   */
  static async start(environment: Record<string, string> = {}): Promise<AttackedServer> {
    const database = await createTestDatabase();
    const settings = {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
      EGRESS_ALLOW: '127.0.0.0/8',
      RATE_LIMIT_CONCURRENT: '0',
      ...environment,
    };
    const seed = await createApp(loadConfig({ ...settings, ROLES: 'api', LOG_LEVEL: 'silent' }));
    await seed.init();
    const application = await createApplication(seed, { features: ['neural'] });
    const bystander = await createAccount(seed, application, { mirrored: true });
    await seed.close();
    const process = await startServerProcess(settings);
    const sql = new SqlPool({
      url: database.url,
      max: 2,
      statementTimeoutMs: 15_000,
      applicationName: 'test',
    });
    const server = new AttackedServer(process, application, bystander, sql);
    server.#closing.push(
      () => process.stop(),
      () => sql.close(),
      () => database.drop(),
    );
    return server;
  }

  get url(): string {
    return this.process.url;
  }

  /** Sends a request with `body` as JSON. */
  async send(
    method: string,
    path: string,
    headers: object = {},
    body?: object,
  ): Promise<HttpAnswer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const { status, headers: answered } = response;
    return {
      status,
      headers: answered,
      body: isJson && text !== '' ? (JSON.parse(text) as unknown) : text,
    };
  }

  /** Starts mail servers of an attacker. They stop with this server. */
  async mailbox(options: FakeImapOptions = {}): Promise<HostileMailbox> {
    const imap = await FakeImap.start(options);
    const smtp = await ScriptedSmtp.start();
    this.#closing.unshift(
      () => imap.stop(),
      () => smtp.stop(),
    );
    const settings = {
      imap_host: '127.0.0.1',
      imap_port: imap.port,
      imap_security: 'none',
      imap_password: 'any',
      smtp_host: '127.0.0.1',
      smtp_port: smtp.port,
      smtp_security: 'none',
    };
    return { imap, smtp, settings };
  }

  /**
   * Connects an account as an application does: it exchanges settings for a code, and the code for
   * a token.
   * @throws {Error} with the response if either step is refused
   */
  async connect(
    email: string,
    settings: object,
  ): Promise<{ id: string; bearer: Record<string, string> }> {
    const { clientId: client_id, clientSecret: client_secret } = this.application;
    const ask = async (path: string, body: object): Promise<Record<string, string>> => {
      const answer = await this.send('POST', path, {}, body);
      if (answer.status !== 200)
        throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body as Record<string, string>;
    };
    const who = { client_id, name: 'Somebody', email_address: email, provider: 'imap' };
    const { code } = await ask('/connect/authorize', { ...who, settings });
    const { id = '', access_token } = await ask('/connect/token', {
      client_id,
      client_secret,
      code,
    });
    return { id, bearer: { authorization: `Bearer ${access_token}` } };
  }

  /**
   * Watches `/health/live`, the bystander's mail and the process's memory until the returned
   * function is called.
   */
  watch(): () => Promise<Watched> {
    return watch(this.process.pid, [
      { name: 'live', url: `${this.url}/health/live` },
      { name: 'messages', url: `${this.url}/messages?limit=1`, headers: this.bystander.bearer },
    ]);
  }

  /** Stops everything that was started. */
  async stop(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }
}
