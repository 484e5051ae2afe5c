import { monotonicMs } from '../base/time/clock.ts';

/** Deliveries to one webhook that were queued together, one slot of its pace apart. */
export interface BookedDeliveries {
  webhookId: string;
  /** Milliseconds until the first of them is due. */
  waitMs: number;
  /** Milliseconds of the webhook's pace that they take. */
  tookMs: number;
}

/**
 * Until when the pace of webhooks is taken by what this process has queued. Only a hint, for deliveries to be due when their turn
 * comes: pace and concurrency themselves are kept by the claim (docs/adr/0011), whatever several processes have
 * booked at the same time.
 */
export class DeliveryPace {
  /** By webhook, on the monotonic clock. */
  readonly #until = new Map<string, number>();

  /** Webhooks with booked deliveries ahead, and for how long. */
  ahead(): { webhookId: string; waitMs: number }[] {
    const now = monotonicMs();
    for (const [webhookId, until] of this.#until) if (until <= now) this.#until.delete(webhookId);
    return [...this.#until].map(([webhookId, until]) => ({ webhookId, waitMs: until - now }));
  }

  /** Those that were booked at the same time, over another connection, have the same slots: the next ones come after both. */
  note({ webhookId, waitMs, tookMs }: BookedDeliveries): void {
    const from = Math.max(monotonicMs() + waitMs, this.#until.get(webhookId) ?? 0);
    this.#until.set(webhookId, from + tookMs);
  }
}

/** Of this process. */
export const deliveryPace = new DeliveryPace();
