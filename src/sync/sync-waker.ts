import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Database } from '../platform/database/sql.ts';
import { ConnectorRegistry } from '../providers/port/connector-registry.ts';
import {
  type ChangedMailbox,
  scheduleChangedMailboxes,
} from '../accounts/sync-schedule/schedule-sync.ts';

/**
 * Milliseconds during which changes are collected. A busy mailbox changes many times a second, but
 * its queue row is updated only once in this time.
 */
const COLLECT_MS = 50;

/** Pause in milliseconds after a failed write to the database. */
const RETRY_MS = 1_000;

/**
 * Schedules a sync pass as soon as a provider reports a change. If a report is lost, the next poll
 * finds the change.
 */
@Injectable()
export class SyncWaker implements OnModuleInit, OnModuleDestroy {
  readonly #log = new Logger(SyncWaker.name);
  readonly #changed = new Map<string, ChangedMailbox>();
  readonly #subscriptions: (() => void)[] = [];
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorRegistry,
  ) {}

  onModuleInit(): void {
    for (const { name: provider, mail } of this.connectors.all()) {
      const stop = mail?.onChange?.((mailbox) => this.#collect({ provider, ...mailbox }));
      if (stop) this.#subscriptions.push(stop);
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    for (const stop of this.#subscriptions) stop();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    await this.#write();
  }

  /** Called by a watch: the mailbox has changed. */
  changed({ provider, applicationId, email }: ChangedMailbox): void {
    this.#collect({ provider, applicationId, email });
  }

  #collect(mailbox: ChangedMailbox): void {
    this.#remember(mailbox);
    this.#writeIn(COLLECT_MS);
  }

  #remember(mailbox: ChangedMailbox): void {
    this.#changed.set(
      JSON.stringify([mailbox.provider, mailbox.applicationId, mailbox.email]),
      mailbox,
    );
  }

  #writeIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    }, ms);
  }

  async #write(): Promise<void> {
    const mailboxes = [...this.#changed.values()];
    this.#changed.clear();
    if (mailboxes.length === 0) return;
    try {
      await scheduleChangedMailboxes(this.database, mailboxes);
    } catch (error) {
      this.#log.warn(
        `could not schedule the sync of changed mailboxes; the next attempt follows soon: ${String(error)}`,
      );
      if (this.#stopping) return; // the next poll finds the change
      for (const mailbox of mailboxes) this.#remember(mailbox);
      this.#writeIn(RETRY_MS);
    }
  }
}
