import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Batcher } from '../../platform/base/concurrency/batcher.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { databaseTrouble } from '../../platform/database/health/database-trouble.ts';
import { Database } from '../../platform/database/sql.ts';
import { outsideSpans } from '../../platform/tracing/spans.ts';
import { type Hit, recordHits } from './record-hits.ts';

/** Hits are counted up to 200 in a transaction, one transaction at a time. */
const TOGETHER = { most: 200, parallel: 1, delayMs: 0 };
/** Hits that wait while the database is busy or unreachable. Further hits are not counted. */
const MOST_WAITING = 10_000;
/** Hits of one message that each process counts in a second. */
const MOST_OF_ONE = 20;
const RETRY_MS = 1_000;
/** A stopping process waits no longer than this for the database. */
const LONGEST_DRAIN_MS = 5_000;
const MOST_USER_AGENT = 300;

/** The client that opened a message or clicked a link. */
export interface Visitor {
  /** Network address, determined by `TRUST_PROXY`. */
  ip: string;
  userAgent: string | undefined;
}

/**
 * Counts openings and clicks in the background, so that no response waits for the database. Hits
 * that arrive together share a transaction. Hits that are not counted when a process is killed are
 * lost.
 */
@Injectable()
export class Hits implements BeforeApplicationShutdown {
  readonly #log = new Logger(Hits.name);
  readonly #pace = new RateLimiterMemory({ points: MOST_OF_ONE, duration: 1 });
  readonly #waiting = new Batcher<Hit>((hits) => outsideSpans(() => this.#count(hits)), TOGETHER);
  #size = 0;
  #stopping = false;
  #lost = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Adds a hit to be counted. Never throws because of the database. */
  async add(messageId: string, link: Hit['link'], { ip, userAgent }: Visitor): Promise<void> {
    if (!(await this.#mayCount(messageId))) return;
    this.#size += 1;
    this.#waiting.add({
      id: newId(),
      messageId,
      link,
      ip: ip.slice(0, 64),
      userAgent: storable(userAgent ?? '', MOST_USER_AGENT),
      at: this.clock.now(),
    });
  }

  /** Resolves when all hits so far are counted or dropped. */
  settled(): Promise<void> {
    return this.#waiting.drain();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopping = true;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise((resolve) => (timer = setTimeout(resolve, LONGEST_DRAIN_MS)));
    await Promise.race([this.settled(), limit]);
    clearTimeout(timer);
  }

  async #mayCount(messageId: string): Promise<boolean> {
    if (this.#size >= MOST_WAITING) {
      this.#lost += 1;
      return false;
    }
    try {
      await this.#pace.consume(messageId);
      return true;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      return false;
    }
  }

  /** Never rejects. */
  async #count(hits: readonly Hit[]): Promise<void> {
    for (;;) {
      try {
        await this.database.transaction((sql) => recordHits(sql, hits));
        this.#logLost();
        break;
      } catch (error) {
        if (databaseTrouble(error) === null || this.#stopping) {
          this.#log.error(
            { err: error },
            `${hits.length} openings and clicks could not be stored and are not counted`,
          );
          break;
        }
        await delay(RETRY_MS);
      }
    }
    this.#size -= hits.length;
  }

  #logLost(): void {
    if (this.#lost > 0)
      this.#log.warn(
        `${this.#lost} openings and clicks were not counted, because too many were waiting`,
      );
    this.#lost = 0;
  }
}
