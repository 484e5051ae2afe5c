import request from 'supertest';
import {
  ProviderWriteDispatcher,
  type ProviderWriteRow,
  type WriteResult,
} from '../../../src/accounts/provider-writes/provider-write-dispatcher.ts';
import { Database } from '../../../src/platform/database/sql.ts';
import { MailboxSyncDispatcher } from '../../../src/sync/mailbox-sync-dispatcher.ts';
import type { SyncResult } from '../../../src/sync/sync-results.ts';
import { EngineSteps } from '../engine-steps.ts';
import { outcomeOf } from '../outcome-of.ts';
import { PassingClock } from '../passing-clock.ts';
import { syncAccount } from '../sync.ts';
import type { TestApp } from '../test-app.ts';

type Method = 'get' | 'post' | 'put' | 'delete';

/** Attempts of provider writes before a test gives up. */
const MOST_ROUNDS = 40;

/**
 * An account whose sync passes and provider writes a test makes itself, in a program without
 * workers.
 */
export class AccountSteps {
  readonly #writes: EngineSteps<ProviderWriteRow, WriteResult>;
  account = { id: '', token: '' };

  constructor(
    readonly server: TestApp,
    readonly clock: PassingClock,
  ) {
    const dispatcher = server.app.get(ProviderWriteDispatcher);
    this.#writes = new EngineSteps(server.app.get(Database), () => dispatcher);
  }

  query<R extends object>(text: string, ...values: unknown[]): Promise<R[]> {
    return this.server.app.get(Database).query<R>(text, values);
  }

  call(method: Method, path: string, body?: object) {
    const bearer = { authorization: `Bearer ${this.account.token}` };
    return request(this.server.url)[method](path).set(bearer).send(body);
  }

  /** @returns the body of the answer, whose status must be 200 */
  async api(method: Method, path: string, body?: object) {
    const response = await this.call(method, path, body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  }

  /** Makes one sync pass of at most so many batches. */
  async pass(batches = Infinity): Promise<SyncResult> {
    let left = batches;
    const lease = { trusted: () => left-- > 0 };
    const dispatcher = this.server.app.get(MailboxSyncDispatcher);
    return outcomeOf(await syncAccount(this.server.app, dispatcher, this.account.id, lease)).result;
  }

  /** Moves the clock to the time at which the next pass is due. */
  async wait(): Promise<void> {
    const [row] = await this.query<{ ms: number }>(
      `select (extract(epoch from run_at - now()) * 1000)::float8 as ms from sync_job where account_id = $1`,
      this.account.id,
    );
    if (row && row.ms > 0) await this.clock.pass(Math.ceil(row.ms));
  }

  /** Makes all provider writes that are waiting, in the order of the requests. */
  async write(): Promise<void> {
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1)
      if ((await this.attemptWrites()) === 0) return;
    throw new Error('provider writes do not end');
  }

  /** Makes one attempt of each waiting provider write, when the first is due. @returns how many */
  async attemptWrites(): Promise<number> {
    const waiting = await this.query<{ id: string; ms: number }>(
      `select id, greatest(0, extract(epoch from run_at - now()) * 1000)::float8 as ms
       from provider_job where account_id = $1 and state = 0 order by id`,
      this.account.id,
    );
    const soonest = Math.min(...waiting.map(({ ms }) => ms));
    if (Number.isFinite(soonest) && soonest > 0) await this.clock.pass(Math.ceil(soonest));
    for (const { id } of waiting) if (await this.#isWaiting(id)) await this.#writes.attempt(id);
    return waiting.length;
  }

  async #isWaiting(id: string): Promise<boolean> {
    return (
      (await this.query('select 1 from provider_job where id = $1 and state = 0', id)).length > 0
    );
  }
}
