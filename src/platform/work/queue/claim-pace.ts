import { monotonicMs } from '../../base/time/clock.ts';
import { backoff } from './backoff.ts';
import { type ClaimSummary, MOST_PER_CLAIM } from './claim-statement.ts';
import type { AnyDispatcher } from './dispatcher.ts';

/**
 * Maximum number of rows that a claim reads. It reads more than it can take, because rate gates may
 * be full. Each row that is read is locked, which costs a write.
 */
const WIDEST_WINDOW = 400;
/** How often a claim ignores the scan floor. */
const FULL_SCAN_EVERY_MS = 10_000;
/** How far the scan floor lies below the earliest row that the last claim has read. */
const FLOOR_SLACK_MS = 30_000;
/**
 * A row that becomes due sooner than this gets a timer of its own. Later rows are found by a later
 * tick.
 */
export const LOOK_AHEAD_MS = 1_500;
/**
 * Minimum time between two claims of one queue. Rows that become due one by one are claimed
 * together.
 */
const CLAIM_EVERY_MS = 5;
/**
 * Minimum time between two claims while only few slots are free: a claim costs nearly the same for
 * one row as for many.
 */
const REFILL_EVERY_MS = 30;
/**
 * Pause after an error, and until the next claim while a due row is locked by another transaction.
 */
export const PAUSE_MS = { first: 10, longest: 1_000 };

/** How much of the queue a claim reads. */
interface ClaimScope {
  /** The claim reads no rows that became due before this time; `null` for no limit. */
  floor: Date | null;
  /** Maximum number of rows that are read, beginning with the oldest due row. */
  window: number;
  /** Maximum number of further rows, beginning with the newest due row. */
  newest: number;
}

/** When the next claim follows. */
interface NextClaim {
  /** Whether it follows at once. */
  atOnce: boolean;
  /** Otherwise, milliseconds until it follows; `null` if a wake or a tick starts it. */
  inMs: number | null;
}

/** Decides when a queue is claimed from, and how much of it each claim reads. */
export class ClaimPace {
  /**
   * Share of the rows read last that their rate gates let in. It decides how many rows the next
   * claim reads.
   */
  #fitting = 1;
  #claimedAt = -Infinity;
  /**
   * Scan floor: claims read no rows that became due before it, and so skip index entries of
   * finished rows. `null` before the first claim that saw a row.
   */
  #floor: Date | null = null;
  #fullScanAt = -Infinity;
  /**
   * Whether the last claim met a crowd: many due rows of one rate gate, with rows of other gates
   * behind them.
   */
  #crowded = false;
  /** Consecutive claims that saw none of the due rows. */
  #blindClaims = 0;

  constructor(
    private readonly queue: Pick<AnyDispatcher, 'slots' | 'mostBeforeHandOff' | 'claimEveryMs'>,
  ) {}

  /** @returns milliseconds until `free` slots may be filled; at most 0 if they may be at once */
  leftMs(free: number): number {
    const { slots, mostBeforeHandOff = slots, claimEveryMs = CLAIM_EVERY_MS } = this.queue;
    const few = free < Math.min(slots / 2, mostBeforeHandOff / 2, MOST_PER_CLAIM);
    return this.#claimedAt + Math.max(claimEveryMs, few ? REFILL_EVERY_MS : 0) - monotonicMs();
  }

  /** Call it right before a claim. */
  begin(free: number): ClaimScope {
    const now = (this.#claimedAt = monotonicMs());
    const full = now - this.#fullScanAt > FULL_SCAN_EVERY_MS;
    if (full) this.#fullScanAt = now;
    return {
      floor: full ? null : this.#floor,
      window: Math.min(Math.ceil(free / this.#fitting), WIDEST_WINDOW),
      newest: this.#crowded ? free : 0,
    };
  }

  /**
   * Learns from a claim.
   * @param filled whether the claim filled all free slots
   */
  end({ window }: ClaimScope, summary: ClaimSummary, filled: boolean): NextClaim {
    const { seen, parked, lowestMs } = summary;
    if (lowestMs !== null) this.#floor = new Date(lowestMs - FLOOR_SLACK_MS);
    if (seen > 0) this.#blindClaims = 0;
    const windowFull = seen >= window;
    this.#fitting = seen > 0 ? (seen - parked) / seen : 1;
    this.#crowded = windowFull && parked > 0;
    // The rows behind the crowd wait, so the next claim follows at once.
    if (this.#crowded) this.#claimedAt = -Infinity;
    if (filled || windowFull) return { atOnce: true, inMs: null };
    return { atOnce: false, inMs: this.#inMs(summary) };
  }

  /**
   * Only rows that become due before the next tick count, above all rows that were moved to a later
   * slot.
   */
  #inMs({ nextMs, passedOver }: ClaimSummary): number | null {
    if (passedOver) {
      // The claim missed a due row: another transaction has locked the row, or it lies below the
      // scan floor.
      this.#fullScanAt = -Infinity;
      this.#blindClaims += 1;
      return backoff(PAUSE_MS, this.#blindClaims);
    }
    return nextMs !== null && nextMs < LOOK_AHEAD_MS ? Math.max(nextMs, 1) : null;
  }
}
