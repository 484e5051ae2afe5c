import { monotonicMs } from '../../base/time/clock.ts';

/** Deliveries to one webhook that were queued together, one slot of its pace apart. */
export interface BookedDeliveries {
  webhookId: string;
  /** Milliseconds until the first delivery is due. */
  waitMs: number;
  /** Milliseconds of the webhook's pace that all of them take. */
  tookMs: number;
}

/**
 * Tracks until when the deliveries queued by this process use up the pace of each webhook. New
 * deliveries are made due after that. The value is only an estimate: the claim enforces pace and
 * concurrency, however many processes queue deliveries at the same time (docs/adr/0011).
 */
export class DeliveryPace {
  /** End of the booked time by webhook id, on the monotonic clock. */
  readonly #until = new Map<string, number>();

  /** Webhooks with booked deliveries, and how many milliseconds their pace is used up. */
  ahead(): { webhookId: string; waitMs: number }[] {
    const now = monotonicMs();
    for (const [webhookId, until] of this.#until) if (until <= now) this.#until.delete(webhookId);
    return [...this.#until].map(([webhookId, until]) => ({ webhookId, waitMs: until - now }));
  }

  /**
   * Books deliveries. Deliveries booked at the same time over another connection have the same
   * slots, so later ones start after both.
   */
  note({ webhookId, waitMs, tookMs }: BookedDeliveries): void {
    const from = Math.max(monotonicMs() + waitMs, this.#until.get(webhookId) ?? 0);
    this.#until.set(webhookId, from + tookMs);
  }
}

/** The instance of this process. */
export const deliveryPace = new DeliveryPace();
