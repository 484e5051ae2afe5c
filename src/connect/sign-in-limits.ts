import { Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { hashToken } from '../common/crypto/token-hash.ts';

/** Passwords that may be refused for one address, by all links of an application together. */
const MOST_REFUSED = 10;
const WITHIN_SECONDS = 15 * 60;

/**
 * How many passwords may be tried for one mail address, whoever tries them. Counted in each process: with n replicas the
 * limit is n times as high.
 */
@Injectable()
export class SignInLimits {
  readonly #refused = new RateLimiterMemory({ points: MOST_REFUSED, duration: WITHIN_SECONDS });

  /**
   * Counts an attempt, before it is made: many at once do not slip through.
   * @param names the address, and the user names of its servers: a password is tried for each of them
   * @returns undefined when it may be made; else in how many minutes
   */
  async begin(applicationId: string, names: readonly string[]): Promise<number | undefined> {
    const counted: string[] = [];
    try {
      for (const name of names) {
        await this.#refused.consume(keyOf(applicationId, name));
        counted.push(name);
      }
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      await this.forget(applicationId, counted);
      return Math.max(1, Math.ceil(rejection.msBeforeNext / 60_000));
    }
  }

  /** The attempt was not refused by the provider: it does not count. */
  async forget(applicationId: string, names: readonly string[]): Promise<void> {
    for (const name of names) await this.#refused.reward(keyOf(applicationId, name));
  }
}

/** Names are not kept. */
const keyOf = (applicationId: string, name: string): string =>
  hashToken(`${applicationId}\0${name.toLowerCase()}`).toString('base64');
