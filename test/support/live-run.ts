import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Company, type CompanyStub, plainMessage } from './companies/company.ts';
import { freePorts } from './mail-servers/processes.ts';
import { type RunningScript, type ScriptResult, startScript } from './npm-script.ts';
import { PageBrowser } from './page-browser.ts';

/** A server starts, and the run waits for mail to be sent at a time. Milliseconds. */
export const LIVE_PATIENCE_MS = 400_000;

/** The folder of a run's database, which it prints at the start. */
export function dataFolderOf(output: string): string {
  const folder = /database in (\S+)/.exec(output)?.[1];
  if (folder === undefined) throw new Error(`no folder is printed: ${output}`);
  return folder;
}

/** `npm run live` with a user Ann at a company's stub, who has one message. */
export class LiveRun<C extends CompanyStub> {
  #running: RunningScript | undefined;
  readonly #records = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-live-'));

  private constructor(
    readonly company: Company<C>,
    readonly world: C,
    /** Ann's address. */
    readonly email: string,
    private readonly port: string,
  ) {}

  static async prepare<C extends CompanyStub>(company: Company<C>): Promise<LiveRun<C>> {
    const world = await company.start();
    const email = `ann@${company.domain}`;
    world.addUser(email, 'Ann');
    await world.deliver(email, plainMessage(email, 'Hello'));
    return new LiveRun(company, world, email, String((await freePorts(1))[0]));
  }

  /** Starts the command without questions. It records into a folder of its own. */
  start(
    environment: Readonly<Record<string, string>> = {},
    options: readonly string[] = [],
  ): RunningScript {
    const { client_id, client_secret } = this.world.client;
    this.#running = startScript('live', [this.company.provider, '--yes', ...options], {
      PORT: this.port,
      LIVE_CLIENT_ID: client_id,
      LIVE_CLIENT_SECRET: client_secret,
      EGRESS_ALLOW: '127.0.0.0/8',
      LIVE_RECORD_FOLDER: this.#records,
      ...this.world.environment,
      ...environment,
    });
    return this.#running;
  }

  /** Signs in on the printed page as Ann would: at the company, and then she agrees. */
  async signIn(live: RunningScript): Promise<void> {
    this.world.signIn(this.email);
    const output = await live.printed(/sign in: \S+\n/);
    const browser = new PageBrowser({ url: `http://localhost:${this.port}` });
    await browser.get(/sign in: (\S+)/.exec(output)?.[1] ?? '');
    await browser.submit('provider');
    await browser.visitCompany();
    await browser.submit('consent');
    await fetch(browser.page.location ?? '');
  }

  /** Secrets of the client and of the user that appear in what the command has printed. */
  leakedSecrets({ output }: ScriptResult): string[] {
    const secrets = this.world.stub.requests.flatMap(({ headers, body, path }) => {
      const token = /^Bearer (\S+)/.exec(headers.authorization ?? '')?.[1] ?? [];
      if (path !== this.world.tokenPath) return token;
      const form = new URLSearchParams(body.toString());
      return ['client_secret', 'code', 'code_verifier', 'refresh_token'].flatMap(
        (name) => form.get(name) ?? [],
      );
    });
    if (secrets.length === 0) throw new Error('the run has used no secret');
    return secrets.filter((secret) => output.includes(secret));
  }

  async stop(): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.ended;
    await this.world.stop();
    fs.rmSync(this.#records, { recursive: true });
  }
}
