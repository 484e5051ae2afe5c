import { Injectable } from '@nestjs/common';
import type { Sql } from '../../platform/database/sql.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type {
  CalendarPort,
  ContactsPort,
  MailboxPort,
  MailPort,
  WriteNotes,
} from '../../providers/port/connector.ts';
import type { ProviderErrorCode } from '../../platform/base/errors/provider-error.ts';
import type { JobAction } from '../../job-statuses/job-status.ts';

/** The parts of a connector that a write can use. */
export interface WritePorts {
  calendar: CalendarPort;
  mailbox: MailboxPort;
  mail: MailPort;
  /** `null` if the provider has no contacts. */
  contacts: ContactsPort | null;
}

/** One provider write, as its module sees it. */
export interface ProviderWrite {
  /** The job_status_id. */
  jobId: string;
  objectId: string;
  /** The payload of the queue row. */
  payload: Readonly<Record<string, unknown>>;
  /**
   * True if an earlier attempt may have taken effect at the provider although its result is not
   * known.
   */
  mayHaveRun: boolean;
  /** 1 for the first attempt. */
  attempt: number;
  /** What the connector remembers of this write. */
  notes: WriteNotes;
}

/**
 * A write that has failed permanently. The module then corrects the state that clients already see.
 */
export type FailedWrite = Pick<ProviderWrite, 'jobId' | 'objectId' | 'payload'> & {
  accountId: string;
  code: ProviderErrorCode;
  /** Why the write failed, as its job shows it. */
  reason: string;
};

/** The result of a write. Failures are thrown. */
export type WriteOutcome =
  | {
      kind: 'written';
      /**
       * Stores the provider's answer, in the transaction that ends the job. It must not use the
       * network.
       */
      store?: (sql: Sql, at: Date) => Promise<void>;
    }
  /**
   * One step is done and another must follow. The step is stored in its own transaction, and the
   * write is called again at once. This does not count as an attempt. The handler must make sure
   * that it finishes, because the job fails after a hundred steps.
   */
  | { kind: 'continues'; store?: (sql: Sql, at: Date) => Promise<void> }
  /** There is nothing left to write, because the object has been deleted in the meantime. */
  | { kind: 'superseded'; reason: string }
  /** Another object must be at the provider first. Does not count as an attempt. */
  | { kind: 'waits'; until: Date };

/**
 * Writes an object as the mirror has it **now**. It is called for one write of the object at a
 * time, and only when no earlier write of the object is open. So the provider ends with the latest
 * state, in whatever order jobs were opened. It may be called again after an attempt whose result
 * was lost, and must then lead to the same result.
 * @throws {ProviderError}
 */
export type ProviderWriteHandler<Port = CalendarPort> = (
  port: Port,
  account: ConnectedAccount,
  write: ProviderWrite,
) => Promise<WriteOutcome>;

/** Optional callbacks of a module for its writes. */
export interface WriteCallbacks {
  /**
   * Called in the transaction that ends a permanently failed write. It must not use the network.
   */
  failed?(sql: Sql, write: FailedWrite, at: Date): Promise<void>;
}

interface Registered extends WriteCallbacks {
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

/** The handler of each action. Modules register theirs when they start. */
@Injectable()
export class ProviderWrites {
  readonly #handlers = new Map<JobAction, Registered>();

  /**
   * @param port the part of the connector that the handler gets; if the provider does not have
   *   it, the job fails
   */
  register<P extends keyof WritePorts>(
    action: JobAction,
    port: P,
    handler: ProviderWriteHandler<WritePorts[P]>,
    hooks: WriteCallbacks = {},
  ): void {
    if (this.#handlers.has(action)) throw new Error(`two handlers for ${action}`);
    const run: Registered['run'] = (connectors, account, write) =>
      handler(REQUIRE[port](connectors, account.provider), account, write);
    this.#handlers.set(action, { ...hooks, port, run });
  }

  /** Whether the action changes the mailbox, so that its mirror needs a sync pass. */
  changesMail(action: JobAction): boolean {
    return !['calendar', 'contacts'].includes(this.require(action).port);
  }

  require(action: JobAction): Registered {
    const handler = this.#handlers.get(action);
    if (!handler) throw new Error(`no handler for ${action}`);
    return handler;
  }
}
