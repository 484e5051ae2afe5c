import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type {
  CalendarPort,
  ContactsPort,
  MailboxPort,
  MailPort,
} from '../../providers/port/connector.ts';
import type { JobAction } from '../../platform/job-statuses/job-status.ts';

/** The part of a connector a write goes through. */
export interface WritePorts {
  calendar: CalendarPort;
  mailbox: MailboxPort;
  mail: MailPort;
  /** Null: the provider keeps none. */
  contacts: ContactsPort | null;
}

/** One write to a provider, as its module sees it. */
export interface ProviderWrite {
  /** The job_status_id. */
  jobId: string;
  objectId: string;
  /** What the job was opened with. */
  payload: Readonly<Record<string, unknown>>;
  /** An earlier attempt may have taken effect at the provider although no result of it is known. */
  mayHaveRun: boolean;
  /** 1 for the first. */
  attempt: number;
}

/** A write that has failed for good, for the module to put right what it has shown already. */
export type FailedWrite = Pick<ProviderWrite, 'jobId' | 'objectId' | 'payload'> & {
  accountId: string;
  /** The provider has said that the object is not there (any more). */
  notFound: boolean;
};

/** How a write ended; failures are thrown. */
export type WriteOutcome =
  | {
      kind: 'written';
      /** Stores what the provider answered, in the transaction that ends the job. No network here. */
      store?: (sql: Sql, at: Date) => Promise<void>;
    }
  /**
   * One step is done and another has to follow: it is stored in a transaction of its own, and the write is called again at once. Not
   * an attempt; whoever answers this makes sure that it comes to an end: after a hundred steps the job fails.
   */
  | { kind: 'continues'; store?: (sql: Sql, at: Date) => Promise<void> }
  /** There is nothing left to write: the object has been deleted meanwhile. */
  | { kind: 'superseded'; reason: string }
  /** Another object has to be at the provider first; does not count as an attempt. */
  | { kind: 'waits'; until: Date };

/**
 * Writes an object as the mirror has it **now**. It is called when no earlier write of the object is open, and for
 * one write of the object at a time, so whatever order jobs were opened in, the provider ends with the latest state.
 * It may be called again after an attempt whose result was lost: it must come to the same end.
 * @throws {ProviderError}
 */
export type ProviderWriteHandler<Port = CalendarPort> = (
  port: Port,
  account: ConnectedAccount,
  write: ProviderWrite,
) => Promise<WriteOutcome>;

/** What a module does about its writes besides performing them. */
export interface WriteHooks {
  /** Called in the transaction that ends a write which has failed for good. No network here. */
  failed?(sql: Sql, write: FailedWrite, at: Date): Promise<void>;
}

interface Registered extends WriteHooks {
  port: keyof WritePorts;
  run(
    connectors: ConnectorRegistry,
    account: ConnectedAccount,
    write: ProviderWrite,
  ): Promise<WriteOutcome>;
}

const REQUIRE: {
  [P in keyof WritePorts]: (connectors: ConnectorRegistry, provider: string) => WritePorts[P];
} = {
  calendar: (connectors, provider) => connectors.requireCalendar(provider),
  mailbox: (connectors, provider) => connectors.requireMailbox(provider),
  mail: (connectors, provider) => connectors.requireMail(provider),
  contacts: (connectors, provider) => connectors.contacts(provider),
};

/** What each action does: modules register theirs when their module starts. */
@Injectable()
export class ProviderWrites {
  readonly #handlers = new Map<JobAction, Registered>();

  /** @param port what the handler is given; a provider without it fails the job */
  register<P extends keyof WritePorts>(
    action: JobAction,
    port: P,
    handler: ProviderWriteHandler<WritePorts[P]>,
    hooks: WriteHooks = {},
  ): void {
    if (this.#handlers.has(action)) throw new Error(`two handlers for ${action}`);
    const run: Registered['run'] = (connectors, account, write) =>
      handler(REQUIRE[port](connectors, account.provider), account, write);
    this.#handlers.set(action, { ...hooks, port, run });
  }

  /** Whether the action changes the mailbox, whose mirror then has to be looked at. */
  changesMail(action: JobAction): boolean {
    return !['calendar', 'contacts'].includes(this.require(action).port);
  }

  require(action: JobAction): Registered {
    const handler = this.#handlers.get(action);
    if (!handler) throw new Error(`no handler for ${action}`);
    return handler;
  }
}
