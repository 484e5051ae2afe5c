import type { ApiClient, Answer, Caller } from '../lib/api-client.ts';
import { bearer, field, text } from '../lib/api-client.ts';
import { type Report, StepFailure } from '../lib/report.ts';
import type { TemporaryServer } from '../lib/temporary-server.ts';
import { explain } from './explain.ts';
import type { LiveSettings } from './settings.ts';

/** The account that is tried. */
export interface LiveAccount {
  id: string;
  email: string;
  /** What the user has agreed to. */
  scopes: readonly string[];
  accessToken: string;
}

/** The user has pressed Ctrl-C. */
export class InterruptedError extends Error {
  override name = 'InterruptedError';
}

interface Undo {
  what: string;
  work(): Promise<void>;
}

const PAUSE_MS = 500;
const JOB_SECONDS = 90;

/** State of the run: the server, the account, what to remove at the end, and what has failed. */
export class Walk {
  readonly settings: LiveSettings;
  readonly server: TemporaryServer;
  readonly report: Report;
  /** Titles of the steps that failed or were left out. */
  readonly failed: string[] = [];
  readonly skipped: string[] = [];
  #account: LiveAccount | undefined;
  #isInterrupted = false;
  #isCleaning = false;
  readonly #api: ApiClient;
  readonly #undos: Undo[] = [];

  constructor(
    settings: LiveSettings,
    { server, report, api }: { server: TemporaryServer; report: Report; api: ApiClient },
  ) {
    this.settings = settings;
    this.server = server;
    this.report = report;
    this.#api = api;
  }

  /** Ends the running step at its next request. What was made is still removed. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** @throws {StepFailure} before the sign-in */
  get account(): LiveAccount {
    if (!this.#account) throw new StepFailure('no account is connected');
    return this.#account;
  }

  useAccount(account: LiveAccount): void {
    this.report.hide(account.accessToken);
    this.#account = account;
  }

  /**
   * Runs one step. A failure is printed with advice, and the next steps run all the same.
   * @param needs one of these scopes; empty for none
   * @returns whether it has succeeded
   */
  async step(title: string, needs: readonly string[], work: () => Promise<void>): Promise<boolean> {
    this.report.step(title);
    if (needs.length > 0 && !needs.some((scope) => this.account.scopes.includes(scope))) {
      this.skip(title, `not allowed by the user, or not asked for (${needs.join(' or ')})`);
      return false;
    }
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof InterruptedError) throw error;
      this.#fail(title, error);
      return false;
    }
  }

  /** Reports that a step, or a part of it, was left out. */
  skip(title: string, reason: string): void {
    this.skipped.push(title);
    this.report.note(`– not checked: ${reason}`);
  }

  /** Calls the API for the account. */
  call(method: string, path: string, body?: object): Promise<Answer> {
    const authorization = bearer(this.account.accessToken);
    return this.callAs({ name: this.account.email, authorization }, method, path, body);
  }

  async callAs(caller: Caller, method: string, path: string, body?: object): Promise<Answer> {
    this.#assertGoing();
    return this.#api.call(caller, method, path, { silent: true, ...(body ? { body } : {}) });
  }

  /**
   * The body of a response with status 2xx.
   * @throws {StepFailure} with the words of the response
   */
  async expect(method: string, path: string, body?: object): Promise<unknown> {
    return successful(`${method} ${path}`, await this.call(method, path, body));
  }

  /**
   * Waits until the job of a response has written its change to the provider.
   * @throws {StepFailure} with the reason if it fails, or is still trying
   */
  async job(response: unknown, what: string): Promise<void> {
    const path = `/job-statuses/${text(response, 'job_status_id')}`;
    let last: unknown;
    const ended = await this.until(JOB_SECONDS, async () => {
      last = await this.expect('GET', path);
      return field(last, 'status') === 'pending' ? undefined : last;
    });
    const job = ended ?? last;
    this.report.verify(what, field(job, 'status') === 'successful', field(job, 'reason') ?? job);
  }

  /** Repeats the probe until it returns a value. @returns `undefined` when the time is over */
  async until<T>(seconds: number, probe: () => Promise<T | undefined>): Promise<T | undefined> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      this.#assertGoing();
      const value = await probe();
      if (value !== undefined || performance.now() > deadline) return value;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /**
   * Remembers how to remove something that the run has made. Call it before the next request.
   * @returns removes it now; the step fails if that fails
   */
  made(what: string, work: () => Promise<void>): () => Promise<void> {
    const undo = { what, work };
    this.#undos.push(undo);
    return async () => {
      await work();
      this.#undos.splice(this.#undos.indexOf(undo), 1);
    };
  }

  /** Removes everything that is left, latest first. After a failure it removes the rest. */
  async cleanUp(): Promise<void> {
    this.#isCleaning = true;
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) {
      const { what, work } = undo;
      try {
        await work();
        this.report.note(`removed: ${what}`);
      } catch (error) {
        this.#fail(`removing ${what}`, error);
        this.report.note(`! NOT removed: ${what}. Remove it by hand.`);
      }
    }
  }

  #assertGoing(): void {
    if (this.#isInterrupted && !this.#isCleaning) throw new InterruptedError('interrupted');
  }

  #fail(title: string, error: unknown): void {
    const words = error instanceof Error ? error.message : String(error);
    this.failed.push(title);
    this.report.note(`✗ ${words}`);
    const advice = explain(words, this.settings);
    if (advice) this.report.note(`  ${advice}`);
    if (!(error instanceof StepFailure) && error instanceof Error && error.stack)
      this.report.note(error.stack);
  }
}

/**
 * The body of a response with status 2xx.
 * @throws {StepFailure} with the words of the response
 */
export function successful(what: string, { status, body }: Answer): unknown {
  if (status < 300) return body;
  const words = field(body, 'message') ?? field(body, 'error', 'message') ?? body;
  const shown = typeof words === 'string' ? words : JSON.stringify(words);
  throw new StepFailure(`${what}: ${status}: ${shown}`);
}
