import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConflictError } from '../base/errors/domain-error.ts';
import { Clock } from '../base/time/clock.ts';
import { KeyedLimit } from '../base/concurrency/keyed-limit.ts';
import { Database, type Sql } from '../database/sql.ts';
import type { IdempotencyKey } from './idempotency-key.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/**
 * How long repetitions get the response of the first request with the key. After that the key is
 * free again, even before the maintenance task deletes its row.
 */
const RETENTION_MS = 24 * 3_600_000;

/** A request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  accountId: string;
  /** 1 to 255 printable ASCII characters. */
  key: string;
  method: string;
  path: string;
  /** The parsed JSON, before validation. */
  body: unknown;
}

/** The response to the first request with a key. Repetitions get the same response. */
export interface FirstResponse {
  status: number;
  /** Plain JSON. */
  body: unknown;
}

/** An accepted request with its response. Nothing has been written yet. */
export interface Acceptance {
  answer: FirstResponse;
  /** Writes the request's effect, in the transaction that takes the key. */
  store(sql: Sql): Promise<void>;
}

/** The key was used for a different request. Nothing was done. */
export class IdempotencyKeyReusedError extends ConflictError {
  constructor() {
    super(
      'idempotency-key.reused',
      'Idempotency-Key: was used for another request within the last 24 hours; use a new key',
    );
  }
}

/** The first request with the key has not been answered yet. */
export class IdempotencyKeyBusyError extends ConflictError {
  /** @param about the value that `begin` stored for the first request; `null` if there is none */
  constructor(readonly about: unknown = null) {
    super(
      'idempotency-key.busy',
      'Idempotency-Key: the first request with this key is still running; repeat the request later',
    );
  }
}

interface KeyRow extends RowOf<IdempotencyKey, 'fingerprint' | 'status'> {
  response: unknown;
}

const FIND = `
  select fingerprint, status, response from idempotency_key
  where account_id = $1 and key = $2 and created_at > $3`;

// Waits for a transaction that is taking the key. A key that has expired but is not yet pruned
// is free.
const TAKE = `
  insert into idempotency_key as k (account_id, key, fingerprint, status, response, created_at)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (account_id, key) do update
    set fingerprint = excluded.fingerprint, status = excluded.status, response = excluded.response,
        created_at = excluded.created_at
    where k.created_at <= $7
  returning 1`;

const FREE = `
  delete from idempotency_key where account_id = $1 and key = $2 and status is null and response = $3::jsonb`;

/**
 * Simultaneous transactions of one account. Each may have to wait for a copy of itself, or for the
 * removal of the account.
 */
const MOST_OF_ONE = 2;
/**
 * Maximum attempts to take a key. A further attempt is needed only if another request took the key
 * and it became free again meanwhile; needing more than this is a bug.
 */
const MOST_ROUNDS = 5;

/**
 * Makes it safe to repeat a request: the first request with a key is executed, and repetitions
 * within 24 hours get its response. The key and the effect are written in one transaction, so that
 * neither exists without the other (docs/adr/0020).
 */
@Injectable()
export class IdempotencyKeys {
  readonly #limit = new KeyedLimit(MOST_OF_ONE);

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * The response to the first request with the key; `undefined` if the key is free.
   * @throws {IdempotencyKeyReusedError} if the key belongs to a different request
   * @throws {IdempotencyKeyBusyError} if the first request is still running
   */
  find(request: IdempotentRequest): Promise<FirstResponse | undefined> {
    return this.#known(request, fingerprintOf(request));
  }

  /**
   * Executes a request once, even if copies of it run at the same time.
   * @param accept checks the request; if it throws, the key stays free
   * @returns the first response, and whether it is a repetition
   * @throws {IdempotencyKeyReusedError} if the key belongs to a different request
   * @throws {IdempotencyKeyBusyError} if the first request is still running
   */
  async once(
    request: IdempotentRequest,
    accept: () => Promise<Acceptance>,
  ): Promise<{ answer: FirstResponse; replayed: boolean }> {
    const fingerprint = fingerprintOf(request);
    let accepted: Acceptance | undefined;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const known = await this.#known(request, fingerprint);
      if (known) return { answer: known, replayed: true };
      accepted ??= await accept();
      const acceptance = accepted;
      const taken = await this.#limit.run(request.accountId, () =>
        this.#take(request, fingerprint, acceptance),
      );
      if (taken) return { answer: acceptance.answer, replayed: false };
    }
    throw new IdempotencyKeyBusyError();
  }

  /**
   * Takes the key for a request whose response is known only later, in the transaction that stores
   * its effect.
   * @param about data about the request for `IdempotencyKeyBusyError`, until its response is
   *   known
   * @throws {IdempotencyKeyBusyError} if another request has the key
   */
  async begin(sql: Sql, request: IdempotentRequest, about: Record<string, unknown>): Promise<void> {
    const taken = await this.#insert(sql, request, fingerprintOf(request), null, about);
    if (!taken) throw new IdempotencyKeyBusyError();
  }

  /**
   * Frees the key after the request of `begin` has failed without effect. Does nothing if another
   * request has taken the key since.
   * @param about the value given to `begin`, or the one in `IdempotencyKeyBusyError`
   */
  async release(sql: Sql, { accountId, key }: IdempotentRequest, about: unknown): Promise<void> {
    await sql.query(FREE, [accountId, key, JSON.stringify(about)]);
  }

  async #known(
    { accountId, key }: IdempotentRequest,
    fingerprint: Buffer,
  ): Promise<FirstResponse | undefined> {
    const [row] = await this.database.query<KeyRow>(FIND, [accountId, key, this.#expired()]);
    if (!row) return undefined;
    if (!row.fingerprint.equals(fingerprint)) throw new IdempotencyKeyReusedError();
    if (row.status === null) throw new IdempotencyKeyBusyError(row.response);
    return { status: row.status, body: row.response };
  }

  /** @returns `false` if another request has the key; nothing was written */
  #take(
    request: IdempotentRequest,
    fingerprint: Buffer,
    { answer, store }: Acceptance,
  ): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      if (!(await this.#insert(sql, request, fingerprint, answer.status, answer.body)))
        return false;
      await store(sql);
      return true;
    });
  }

  async #insert(
    sql: Sql,
    { accountId, key }: IdempotentRequest,
    fingerprint: Buffer,
    status: number | null,
    body: unknown,
  ): Promise<boolean> {
    const row = [accountId, key, fingerprint, status, JSON.stringify(body), this.clock.now()];
    return (await sql.query(TAKE, [...row, this.#expired()])).length > 0;
  }

  /** Keys created at or before this time are free. */
  #expired(): Date {
    return new Date(this.clock.now().getTime() - RETENTION_MS);
  }
}

/**
 * SHA-256 of what identifies a request: method, path, account and body. The order of object keys
 * does not matter.
 */
export function fingerprintOf({ accountId, method, path, body }: IdempotentRequest): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([method, path, accountId]))
    .update(JSON.stringify(body, sortedKeys) ?? '')
    .digest();
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const PRUNE = `
  delete from idempotency_key
  where (account_id, key) in (select account_id, key from idempotency_key where created_at <= $1
                              order by created_at limit 1000 for update skip locked)
  returning 1`;

/**
 * Deletes expired idempotency keys, at most 1000. `Maintenance` calls it every ten minutes.
 * @returns the number of deleted keys
 */
export async function pruneIdempotencyKeys(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - RETENTION_MS)])).length;
}
