import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database } from '../../../platform/database/sql.ts';

/** Maximum number of tokens remembered per minute. Last uses of further tokens are not stored. */
const MOST_TOKENS = 100_000;
const TOGETHER = 5_000;

// Skips tokens that another transaction has locked, for example to revoke them: waiting could
// deadlock.
const STORE = `
  update access_token t set last_used_at = greatest(t.last_used_at, u.at)
  from unnest($1::uuid[], $2::timestamptz[]) u(id, at)
  join (select id from access_token where id = any($1) order by id for no key update skip locked) held on held.id = u.id
  where t.id = held.id`;

/**
 * Remembers in memory when access tokens were last used. Each process stores the times once a
 * minute, in statements of up to 5,000 tokens. A process that is killed loses its last minute.
 */
@Injectable()
export class TokenUses implements BeforeApplicationShutdown {
  readonly #log = new Logger('TokenUses');
  #uses = new Map<string, Date>();
  #storing: Promise<void> | null = null;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Remembers that a request used this token now. Runs no statement. */
  note(tokenId: string): void {
    if (this.#uses.size < MOST_TOKENS || this.#uses.has(tokenId))
      this.#uses.set(tokenId, this.clock.now());
  }

  /** Stores the remembered times. Times that cannot be stored are lost. */
  async store(): Promise<void> {
    await this.#storing;
    this.#storing = this.#store().finally(() => (this.#storing = null));
    await this.#storing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    try {
      await this.store();
    } catch (error) {
      this.#log.warn(`the last uses of access tokens could not be stored: ${String(error)}`);
    }
  }

  async #store(): Promise<void> {
    const uses = [...this.#uses];
    this.#uses = new Map();
    for (let from = 0; from < uses.length; from += TOGETHER) {
      const some = uses.slice(from, from + TOGETHER);
      await this.database.query(STORE, [some.map(([id]) => id), some.map(([, at]) => at)]);
    }
  }
}
