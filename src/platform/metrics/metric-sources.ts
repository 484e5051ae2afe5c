import { Injectable, Logger } from '@nestjs/common';
import { monotonicMs } from '../base/time/clock.ts';
import type { Sql } from '../database/sql.ts';
import { MetricsDatabase } from './metrics-database.ts';
import { sourceUp } from './database-metrics.ts';

/** Metrics that are read when the page is requested, all of them together. */
export interface MetricSource {
  /** Value of the label `source` of `carillon_metrics_source_up`. */
  name: string;
  /** How long the values may be shown again before they are read again, in seconds. */
  seconds: number;
  /** The metrics that `read` sets. They are absent from the page if `read` fails. */
  metrics: readonly { reset(): void }[];
  /**
   * Reads the values and returns a function that sets the metrics.
   */
  read(sql: Sql): Promise<() => void>;
}

interface Known {
  source: MetricSource;
  /** Sets the values that were read last; `null` if they could not be read. */
  show: (() => void) | null;
  /** When they were read, in monotonic milliseconds. */
  readMs: number;
  reading: Promise<void> | null;
}

/** The page does not wait longer for its sources. Prometheus gives up after ten seconds. */
const PAGE_MS = 4_000;

/** Reads the metrics that are not counted in this process. */
@Injectable()
export class MetricSources {
  readonly #log = new Logger(MetricSources.name);
  readonly #known: Known[] = [];

  constructor(private readonly database: MetricsDatabase) {}

  /** Adds a source. Call it once, when the module starts. */
  add(source: MetricSource): void {
    this.#known.push({ source, show: null, readMs: -Infinity, reading: null });
  }

  /**
   * Sets the metrics of all sources, from values that are at most as old as each source allows. A
   * source that fails or needs more than four seconds has no values and does not keep the others
   * from having theirs.
   */
  async refresh(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, PAGE_MS);
    const present = await Promise.all(
      this.#known.map(async (known) => {
        if (monotonicMs() - known.readMs < known.source.seconds * 1000) return true;
        known.reading ??= this.#read(known).finally(() => (known.reading = null));
        return Promise.race([known.reading.then(() => true), late.then(() => false)]);
      }),
    );
    clearTimeout(timer);
    this.#known.forEach(({ source, show }, index) => {
      for (const metric of source.metrics) metric.reset();
      const shown = present[index] === true && show !== null;
      if (shown) show();
      sourceUp.set({ source: source.name }, shown ? 1 : 0);
    });
  }

  /** Makes the next page read all values again. */
  expire(): void {
    for (const known of this.#known) known.readMs = -Infinity;
  }

  async #read(known: Known): Promise<void> {
    try {
      known.show = await known.source.read(this.database);
      known.readMs = monotonicMs();
    } catch (error) {
      known.show = null;
      known.readMs = -Infinity;
      const why = error instanceof Error ? error.message : String(error);
      this.#log.warn(`the metrics of ${known.source.name} could not be read: ${why}`);
    }
  }
}
