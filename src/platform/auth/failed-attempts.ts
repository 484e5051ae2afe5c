import { Inject, Injectable } from '@nestjs/common';
import { hashToken } from '../base/crypto/token-hash.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientKey } from '../base/client-address.ts';
import { Clock } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { Database, type Sql } from '../database/sql.ts';
import { ProviderError } from '../base/errors/provider-error.ts';

/** Who tries to sign in to which account. */
export interface SignInAttempt {
  applicationId: string;
  /** Network address of the client; null: the application has proven itself with its secret, and answers for its users. */
  client: string | null;
  /** The address, and the user names at its servers: a password is tried for each of them. */
  names: readonly string[];
}

/** Too many attempts failed; `details.retryAfterSeconds` says when the next one is let through. */
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
/** Wrong passwords of all clients for one account: high, because strangers can use it up. */
const MOST_OF_ACCOUNT = 100;
/** Limits that are known to be reached, per process. */
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
  from (select key from failed_attempt where key = any($1::bytea[]) and failures > 0 order by key for update) held
  where f.key = held.key`;

/**
 * The one limiter of failed attempts: passwords on the pages and at `/connect/authorize`, and secrets of applications. Counted
 * in the database, so by all processes together; a limit that is reached is remembered here, and costs no further statement.
 */
@Injectable()
export class FailedAttempts {
  readonly #mostOfClient: number;
  /** Until when, in milliseconds since 1970, by key. */
  readonly #reached = new Map<string, number>();

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.#mostOfClient = config.rateLimits.failuresPerClient;
  }

  /**
   * Runs an attempt to sign in. It counts before it is made, so that many at once do not slip through. A provider's refusal counts
   * for the account and the client; any other failure for the client alone. A success does not count, nor does an attempt that
   * was turned away before any server was asked (429).
   * @throws {TooManyFailuresError} before the attempt is made
   * @throws what the attempt throws
   */
  async during<T>(attempt: SignInAttempt, work: () => Promise<T>): Promise<T> {
    const counted = this.#countedBy(attempt);
    await this.#begin(counted);
    let released = counted;
    try {
      return await work();
    } catch (error) {
      // When too many checks were running, nobody learns anything from it, and it is no fault of the client.
      const isTurnedAway = error instanceof DomainError && error.kind === 'rate-limited';
      if (isRefusal(error)) released = [];
      else if (!isTurnedAway) released = counted.filter(({ kind }) => kind !== 'client');
      throw error;
    } finally {
      await this.#release(released);
    }
  }

  /**
   * Counts a secret of an application, or a token, that was wrong. A right one is never refused for somebody's wrong ones: call
   * this after looking, not before.
   * @param client network address of the client
   * @throws {TooManyFailuresError} to be answered instead of the usual refusal
   */
  async wrongSecret(client: string): Promise<void> {
    await this.#begin(this.#clientOf(client));
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

  async #begin(counted: readonly Counted[]): Promise<void> {
    if (counted.length === 0) return;
    const now = this.clock.now();
    for (const one of counted) {
      const until = this.#reached.get(one.key);
      if (until !== undefined && until > now.getTime()) throw tooMany(one, until, now);
    }
    const rows = await this.database.query<{ key: string; failures: number; endsAt: Date }>(COUNT, [
      buffersOf(counted),
      now,
      new Date(now.getTime() + WITHIN_MS),
    ]);
    const byKey = new Map(rows.map((row) => [row.key, row]));
    const exceeded = counted.filter(({ key, most }) => (byKey.get(key)?.failures ?? 0) > most);
    const [first] = exceeded;
    if (!first) return;
    // It is not made, so it does not count.
    await this.#release(counted);
    for (const { key } of exceeded) this.#remember(key, byKey.get(key)?.endsAt.getTime() ?? 0);
    throw tooMany(first, byKey.get(first.key)?.endsAt.getTime() ?? 0, now);
  }

  async #release(counted: readonly Counted[]): Promise<void> {
    // A limit may have been reached by attempts under way, this one among them.
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

/** Whether the provider has said no to the credentials of an attempt. */
export function isRefusal(error: unknown): boolean {
  const cause = error instanceof DomainError ? error.details.cause : undefined;
  return cause instanceof ProviderError && cause.code === 'auth-invalid';
}

function tooMany({ kind, most }: Counted, until: number, now: Date): TooManyFailuresError {
  return new TooManyFailuresError(
    WHAT[kind],
    most,
    Math.max(1, Math.ceil((until - now.getTime()) / 1000)),
  );
}

const keyOf = (...parts: readonly string[]): string =>
  hashToken(parts.join('\0')).toString('base64');

/** In one order everywhere: those who lock several rows do not wait for each other in a circle. */
const buffersOf = (counted: readonly Counted[]): Buffer[] =>
  counted.map(({ key }) => Buffer.from(key, 'base64')).sort((one, other) => one.compare(other));

const PRUNE = `
  delete from failed_attempt
  where key in (select key from failed_attempt where ends_at <= $1 order by key limit 1000 for update skip locked)
  returning 1`;

/** Removes counts of failed attempts whose time is over. @returns how many */
export async function pruneFailedAttempts(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [now])).length;
}
