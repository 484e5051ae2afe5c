import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Wake } from '../common/wake.ts';
import { Database } from '../database/sql.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';

/** A busy mailbox changes many times a second: its row is touched at most once in this time. */
const COLLECT_MS = 50;

// `again` outlives a run that is going on; the next one clears it when it begins.
const HURRY = `
  update sync_job j set again = true, run_at = least(j.run_at, now())
  from "grant" g, unnest($1::text[], $2::uuid[], $3::text[]) x(provider, application_id, email)
  where g.provider = x.provider and g.application_id = x.application_id and g.email = x.email
    and g.status = 'valid' and j.account_id = g.id and not (j.again and j.run_at <= now())
  returning 1`;

interface ChangedMailbox {
  provider: string;
  applicationId: string;
  email: string;
}

/** Has mailboxes looked at as soon as their provider tells of a change. A lost notice costs until the next poll. */
@Injectable()
export class SyncWaker implements OnModuleInit, OnModuleDestroy {
  readonly #log = new Logger(SyncWaker.name);
  readonly #changed = new Map<string, ChangedMailbox>();
  readonly #subscriptions: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorRegistry,
    private readonly wake: Wake,
  ) {}

  onModuleInit(): void {
    for (const { name: provider, mail } of this.connectors.all()) {
      const stop = mail?.onChange?.((mailbox) => this.#collect({ provider, ...mailbox }));
      if (stop) this.#subscriptions.push(stop);
    }
  }

  async onModuleDestroy(): Promise<void> {
    for (const stop of this.#subscriptions) stop();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    await this.#write();
  }

  #collect(mailbox: ChangedMailbox): void {
    this.#changed.set(JSON.stringify([mailbox.provider, mailbox.applicationId, mailbox.email]), mailbox);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    }, COLLECT_MS);
  }

  async #write(): Promise<void> {
    const mailboxes = [...this.#changed.values()];
    this.#changed.clear();
    if (mailboxes.length === 0) return;
    try {
      const due = await this.database.query(HURRY, [
        mailboxes.map(({ provider }) => provider),
        mailboxes.map(({ applicationId }) => applicationId),
        mailboxes.map(({ email }) => email),
      ]);
      if (due.length > 0) this.wake.wake('sync');
    } catch (error) {
      this.#log.warn(`changed mailboxes wait for their next poll: ${String(error)}`);
    }
  }
}
