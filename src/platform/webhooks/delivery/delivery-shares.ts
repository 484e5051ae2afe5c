import { KeyedCount } from '../../base/concurrency/keyed-count.ts';

/** How many deliveries run at the same time in one process. */
export interface ShareLimits {
  /** Those of one application. */
  perApplication: number;
  /** Those of slow webhooks together, and of webhooks without a delivery in this process. */
  slow: number;
  /** Those of them together if each further one is the only delivery of its webhook. */
  slowWithFirst: number;
}

/** A delivery that takes longer makes its webhook a slow one, in milliseconds. */
const SLOW_MS = 1_000;
/** Fast webhooks that are remembered. A forgotten one counts as slow until its next delivery. */
const MOST_REMEMBERED = 10_000;

/**
 * Divides the slots of a process fairly: neither one application nor slow receivers together can
 * take all of them. A slow webhook without a delivery may begin one beyond the share of slow ones,
 * so that it can prove that it is fast. `slowWithFirst` bounds that, and its application must have
 * fewer deliveries than that share.
 */
export class DeliveryShares {
  readonly #applications = new KeyedCount();
  readonly #webhooks = new KeyedCount();
  /** In the order of their last deliveries. */
  readonly #fast = new Set<string>();
  #slow = 0;

  constructor(private readonly limits: ShareLimits) {}

  /**
   * Counts a delivery that is about to begin.
   * @returns a function to call when it has ended; `null` if it must not begin now
   */
  take(applicationId: string, webhookId: string): (() => void) | null {
    if (this.#applications.get(applicationId) >= this.limits.perApplication) return null;
    const slow = !this.#fast.has(webhookId);
    if (slow && this.#slow >= this.#slowLimit(applicationId, webhookId)) return null;
    const count = (amount: number) => {
      this.#applications.add(applicationId, amount);
      this.#webhooks.add(webhookId, amount);
      if (slow) this.#slow += amount;
    };
    count(1);
    return () => count(-1);
  }

  #slowLimit(applicationId: string, webhookId: string): number {
    const { slow, slowWithFirst } = this.limits;
    const first = this.#webhooks.get(webhookId) === 0;
    return first && this.#applications.get(applicationId) < slow ? slowWithFirst : slow;
  }

  /** Notes how long a delivery took, in milliseconds. */
  note(webhookId: string, tookMs: number): void {
    this.#fast.delete(webhookId);
    if (tookMs > SLOW_MS) return;
    this.#fast.add(webhookId);
    const [oldest] = this.#fast.size > MOST_REMEMBERED ? this.#fast : [];
    if (oldest !== undefined) this.#fast.delete(oldest);
  }
}
