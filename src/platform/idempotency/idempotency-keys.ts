import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConflictError } from '../base/errors/domain-error.ts';
import { Clock } from '../base/time/clock.ts';
import { KeyedLimit } from '../base/concurrency/keyed-limit.ts';
import { Database, type Sql } from '../database/sql.ts';

/** A key means its first request for this long; then it is free again. */
const RETENTION_MS = 24 * 3_600_000;

/** A request that carries an `Idempotency-Key`. */
export interface IdempotentRequest {
  accountId: string;
  /** 1–255 printable characters. */
  key: string;
  method: string;
  path: string;
  /** The parsed JSON, as it came. */
  body: unknown;
}

/** What a request was answered: it is answered the same again. */
export interface FirstAnswer {
  status: number;
  /** Plain JSON. */
  body: unknown;
}

/** A request that can be accepted, with its answer; nothing is written yet. */
export interface Acceptance {
  answer: FirstAnswer;
  /** Writes it, in the transaction that takes the key. */
  store(sql: Sql): Promise<void>;
}

/** The key was used for another request: nothing was done. */
export class IdempotencyKeyReusedError extends ConflictError {
  constructor() {
    super(
      'idempotency-key.reused',
      'Idempotency-Key: was used for another request within the last 24 hours',
    );
  }
}

/** The first request with the key has not been answered yet. */
export class IdempotencyKeyBusyError extends ConflictError {
  /** @param about what `begin` was told of the first request; null: nothing is known of it */
  constructor(readonly about: unknown = null) {
    super(
      'idempotency-key.busy',
      'Idempotency-Key: the first request with it is still being worked on',
    );
  }
}

interface KeyRow {
  fingerprint: Buffer;
  status: number | null;
  response: unknown;
}

const FIND = `
  select fingerprint, status, response from idempotency_key
  where account_id = $1 and key = $2 and created_at > $3`;

// Waits for whoever is taking the key just now. One that has expired, and is only not cleared away yet, is free.
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

/** Transactions of one account at a time: each may have to wait, for a copy of itself or for whoever removes the account. */
const MOST_OF_ONE = 2;
/** Times a key may come free again while it is being looked for: more would be a fault of ours. */
const MOST_ROUNDS = 5;

/**
 * Keys that make a repeated request harmless: the first request with a key is accepted, every other within 24 hours gets
 * the first one's answer. Key and effect are one transaction, so that neither exists without the other.
 */
@Injectable()
export class IdempotencyKeys {
  readonly #limit = new KeyedLimit(MOST_OF_ONE);

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * What the first request with the key was answered; undefined: the key is free.
   * @throws {IdempotencyKeyReusedError} the key belongs to another request @throws {IdempotencyKeyBusyError}
   */
  find(request: IdempotentRequest): Promise<FirstAnswer | undefined> {
    return this.#known(request, fingerprintOf(request));
  }

  /**
   * Accepts a request once, also when copies of it run at the same moment.
   * @param accept checks the request; what it throws leaves the key free
   * @returns the first answer, and whether it was given before
   * @throws {IdempotencyKeyReusedError} the key belongs to another request @throws {IdempotencyKeyBusyError}
   */
  async once(
    request: IdempotentRequest,
    accept: () => Promise<Acceptance>,
  ): Promise<{ answer: FirstAnswer; replayed: boolean }> {
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
   * Takes the key for a request whose answer is known only later, in the transaction that stores what it does.
   * @param about what is told of the request until then
   * @throws {IdempotencyKeyBusyError} somebody else has it
   */
  async begin(sql: Sql, request: IdempotentRequest, about: Record<string, unknown>): Promise<void> {
    const taken = await this.#insert(sql, request, fingerprintOf(request), null, about);
    if (!taken) throw new IdempotencyKeyBusyError();
  }

  /**
   * Nothing has come of what `begin` has begun: the key is free again, unless somebody has begun anew with it.
   * @param about as it was given to `begin`, or to `IdempotencyKeyBusyError`
   */
  async release(sql: Sql, { accountId, key }: IdempotentRequest, about: unknown): Promise<void> {
    await sql.query(FREE, [accountId, key, JSON.stringify(about)]);
  }

  async #known(
    { accountId, key }: IdempotentRequest,
    fingerprint: Buffer,
  ): Promise<FirstAnswer | undefined> {
    const [row] = await this.database.query<KeyRow>(FIND, [accountId, key, this.#expired()]);
    if (!row) return undefined;
    if (!row.fingerprint.equals(fingerprint)) throw new IdempotencyKeyReusedError();
    if (row.status === null) throw new IdempotencyKeyBusyError(row.response);
    return { status: row.status, body: row.response };
  }

  /** @returns false when somebody else has the key: nothing was written */
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

  /** Keys of this instant and older are free. */
  #expired(): Date {
    return new Date(this.clock.now().getTime() - RETENTION_MS);
  }
}

/** SHA-256 of what makes two requests the same: method, path, account and body, whatever the order of its keys. */
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

/** Removes idempotency keys that are free again, at most 1000. @returns how many */
export async function pruneIdempotencyKeys(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - RETENTION_MS)])).length;
}
