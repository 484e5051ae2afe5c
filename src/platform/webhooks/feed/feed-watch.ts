import { Injectable, Logger } from '@nestjs/common';
import { Database } from '../../database/sql.ts';
import { ReaderWatch } from '../../waiting/reader-watch.ts';
import { Signals } from '../../work/signals.ts';
import { publishEvents } from '../events/publish-events.ts';
import { publishedOf } from './feed.repository.ts';

/**
 * Wakes requests that wait for events of their applications. While requests wait, this process
 * publishes events itself: when a commit has queued deliveries, and once a second. What other
 * processes publish wakes the requests by a database notification.
 */
@Injectable()
export class FeedWatch extends ReaderWatch {
  readonly #log = new Logger(FeedWatch.name);
  readonly #unsubscribe: () => void;
  #publishing = false;
  #again = false;

  constructor(
    private readonly database: Database,
    signals: Signals,
  ) {
    super();
    this.#unsubscribe = signals.listen((signal) => {
      if (signal.kind === 'published') this.ring(signal.applications);
      if (signal.kind === 'due' && signal.queue === 'hook' && this.size > 0) void this.#publish();
    });
  }

  override onModuleDestroy(): void {
    this.#unsubscribe();
    super.onModuleDestroy();
  }

  protected override async newest(
    applicationIds: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    await publishEvents(this.database);
    return publishedOf(this.database, applicationIds);
  }

  /** One call at a time, and one more if there were others meanwhile. */
  async #publish(): Promise<void> {
    this.#again = true;
    if (this.#publishing) return;
    this.#publishing = true;
    try {
      while (this.#again) {
        this.#again = false;
        await publishEvents(this.database);
      }
    } catch (error) {
      this.#log.warn(
        `could not publish events; the next check follows in a second: ${String(error)}`,
      );
    } finally {
      this.#publishing = false;
    }
  }
}
