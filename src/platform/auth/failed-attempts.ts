import { Inject, Injectable } from '@nestjs/common';
import { hashToken } from '../base/crypto/token-hash.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientKey } from '../base/client-address.ts';
import { Clock } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { reportIncident } from '../logs/incidents.ts';
import { refusals, type Sender } from '../refusals/refusals.ts';
import { Database, type Sql } from '../database/sql.ts';
import { ProviderError } from '../base/errors/provider-error.ts';
import type { FailedAttempt } from './failed-attempt.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** One attempt of a client to sign in to an account. */
export interface SignInAttempt {
  applicationId: string;
  /**
   * Network address of the client. `null` if the application has authenticated with its secret; it
   * then answers for its users.
   */
  client: string | null;
  /**
   * The email address, and the user names at its servers. The attempt counts for each of these
   * names.
   */
  names: readonly string[];
}

/** A wrong name or password of somebody who signs in to Carillon itself. */
export class WrongPasswordError extends DomainError {
  constructor(message: string) {
    super('sign-in.wrong-password', 'unauthorized', message);
  }
}

/**
 * Too many attempts have failed. `details.retryAfterSeconds` says when the next attempt is allowed.
 */
export class TooManyFailuresError extends DomainError {
  constructor(what: string, limit: number, retryAfterSeconds: number) {
    const minutes = Math.ceil(retryAfterSeconds / 60);
    super(
      'sign-in.too-many-failures',
      'rate-limited',
      `Too many failed attempts ${what}: try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`,
      { limit, retryAfterSeconds },
    );
  }
}

const WITHIN_MS = 15 * 60_000;
/** Wrong passwords of one client for one account. */
const MOST_OF_PAIR = 10;
/**
 * Wrong passwords of all clients for one account. The limit is high because an attacker can use it
 * up and lock the owner out.
 */
const MOST_OF_ACCOUNT = 100;
/** Reached limits that one process remembers. */
const MOST_REMEMBERED = 10_000;

interface Counted {
  /** SHA-256 in base64. */
  key: string;
  most: number;
  kind: 'pair' | 'account' | 'client';
}

const WHAT: Readonly<Record<Counted['kind'], string>> = {
  pair: 'for this account',
  account: 'for this account',
  client: 'from this network address',
};

const COUNT = `
  insert into failed_attempt as f (key, failures, ends_at)
  select key, 1, $3 from unnest($1::bytea[]) key
  on conflict (key) do update set
    failures = case when f.ends_at <= $2 then 1 else f.failures + 1 end,
    ends_at = case when f.ends_at <= $2 then excluded.ends_at else f.ends_at end
  returning encode(key, 'base64') as key, failures, ends_at as "endsAt"`;

const RELEASE = `
  update failed_attempt f set failures = f.failures - 1
  from (select key from failed_attempt where key = any($1::bytea[]) and failures > 0 order by key for update) locked
  where f.key = locked.key`;

/**
 * Limits failed attempts: passwords on the sign-in pages and at `/connect/authorize`, and secrets
 * of applications. Attempts are counted in the database, by all processes together. Each process
 * remembers reached limits, so that further attempts cost no statement (docs/adr/0063).
 */
@Injectable()
export class FailedAttempts {
  readonly #mostOfClient: number;
  /** End of the period in milliseconds since 1970, by key. */
  readonly #reached = new Map<string, number>();

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.#mostOfClient = config.rateLimits.failuresPerClient;
  }

  /**
   * Runs an attempt to sign in. The attempt is counted before it runs, so that many simultaneous
   * attempts cannot exceed the limit. If the provider refuses the credentials, the attempt counts
   * for the account and the client. Any other failure counts for the client only. A success does
   * not count, and neither does an attempt that was rejected with 429 before any server was asked.
   * @throws {TooManyFailuresError} before the attempt runs
   * @throws the error of the attempt
   */
  async run<T>(attempt: SignInAttempt, work: () => Promise<T>): Promise<T> {
    const counted = this.#countedBy(attempt);
    await this.#begin(counted, attempt.client);
    let released = counted;
    try {
      return await work();
    } catch (error) {
      // Too many checks were running: the attempt revealed nothing, and the client is not at
      // fault.
      const isTurnedAway = error instanceof DomainError && error.kind === 'rate-limited';
      if (isRefusal(error)) {
        released = [];
        reportRefusal(attempt, error);
      } else if (!isTurnedAway) released = counted.filter(({ kind }) => kind !== 'client');
      throw error;
    } finally {
      await this.#release(released);
    }
  }

  /**
   * Counts a wrong application secret or token. Call it after the secret was checked: a correct
   * secret must be accepted even if others have used up the limit.
   * @param client network address of the client
   * @param named whose secret or token it should have been
   * @throws {TooManyFailuresError} to return to the client instead of the usual refusal
   */
  async countWrongSecret(
    client: string,
    named: Pick<Sender, 'clientId' | 'tokenHash'> = {},
  ): Promise<void> {
    reportIncident('login.refused', { client, of: 'secret or token' });
    refusals.login('secret', { client, ...named });
    await this.#begin(this.#clientOf(client), client);
  }

  #clientOf(client: string | null): Counted[] {
    if (!client || this.#mostOfClient === 0) return [];
    return [{ key: keyOf('client', clientKey(client)), most: this.#mostOfClient, kind: 'client' }];
  }

  #countedBy({ applicationId, client, names }: SignInAttempt): Counted[] {
    const accounts = [...new Set(names.map((name) => name.trim().toLowerCase()).filter(Boolean))];
    return [
      ...this.#clientOf(client),
      ...accounts.flatMap((name): Counted[] => [
        { key: keyOf('account', applicationId, name), most: MOST_OF_ACCOUNT, kind: 'account' },
        ...(client
          ? [
              {
                key: keyOf('pair', applicationId, name, clientKey(client)),
                most: MOST_OF_PAIR,
                kind: 'pair' as const,
              },
            ]
          : []),
      ]),
    ];
  }

  async #begin(counted: readonly Counted[], client: string | null): Promise<void> {
    if (counted.length === 0) return;
    const now = this.clock.now();
    for (const one of counted) {
      const until = this.#reached.get(one.key);
      if (until !== undefined && until > now.getTime()) throw tooMany(one, client, until, now);
    }
    const rows = await this.database.query<
      RowOf<FailedAttempt, 'failures' | 'endsAt'> & Pick<Counted, 'key'>
    >(COUNT, [buffersOf(counted), now, new Date(now.getTime() + WITHIN_MS)]);
    const byKey = new Map(rows.map((row) => [row.key, row]));
    const exceeded = counted.filter(({ key, most }) => (byKey.get(key)?.failures ?? 0) > most);
    const [first] = exceeded;
    if (!first) return;
    // The attempt will not run, so it does not count.
    await this.#release(counted);
    for (const { key } of exceeded) this.#remember(key, byKey.get(key)?.endsAt.getTime() ?? 0);
    throw tooMany(first, client, byKey.get(first.key)?.endsAt.getTime() ?? 0, now);
  }

  async #release(counted: readonly Counted[]): Promise<void> {
    // Running attempts, including this one, may have reached a limit. Releasing this one brings the
    // count below the limit again.
    for (const { key } of counted) this.#reached.delete(key);
    if (counted.length > 0) await this.database.query(RELEASE, [buffersOf(counted)]);
  }

  #remember(key: string, until: number): void {
    this.#reached.delete(key);
    for (const oldest of this.#reached.keys()) {
      if (this.#reached.size < MOST_REMEMBERED) break;
      this.#reached.delete(oldest);
    }
    this.#reached.set(key, until);
  }
}

/** Names no account: the name may be one that the user has mistyped, or a password. */
function reportRefusal({ applicationId, client }: SignInAttempt, error: unknown): void {
  const of = { application: applicationId, ...(client ? { client } : {}), of: 'sign-in' };
  refusals.login('sign-in', { application: applicationId, client: client ?? undefined });
  reportIncident('login.refused', of, error instanceof Error ? error.message : null);
}

/** Whether the provider, or Carillon itself, refused the credentials of an attempt. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof WrongPasswordError) return true;
  const cause = error instanceof DomainError ? error.details.cause : undefined;
  return cause instanceof ProviderError && cause.code === 'auth-invalid';
}

function tooMany(
  { kind, most }: Counted,
  client: string | null,
  until: number,
  now: Date,
): TooManyFailuresError {
  refusals.login('too-many', { client: client ?? undefined });
  reportIncident('login.limited', { ...(client ? { client } : {}), of: WHAT[kind] });
  return new TooManyFailuresError(
    WHAT[kind],
    most,
    Math.max(1, Math.ceil((until - now.getTime()) / 1000)),
  );
}

const keyOf = (...parts: readonly string[]): string =>
  hashToken(parts.join('\0')).toString('base64');

/** Sorted, so that transactions that lock several rows cannot deadlock. */
const buffersOf = (counted: readonly Counted[]): Buffer[] =>
  counted.map(({ key }) => Buffer.from(key, 'base64')).sort((one, other) => one.compare(other));

const PRUNE = `
  delete from failed_attempt
  where key in (select key from failed_attempt where ends_at <= $1 order by key limit 1000 for update skip locked)
  returning 1`;

/**
 * Removes counts of failed attempts whose period has ended.
 * @returns the number of removed rows, at most 1000
 */
export async function pruneFailedAttempts(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [now])).length;
}
