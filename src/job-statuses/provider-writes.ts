import { Injectable } from '@nestjs/common';
import type { Sql } from '../database/sql.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { CalendarPort } from '../providers/connector.ts';
import type { JobAction } from './job-status.ts';

/** One write to a provider, as its room sees it. */
export interface ProviderWrite {
  /** The job_status_id. */
  jobId: string;
  objectId: string;
  /** What the job was opened with. */
  payload: Readonly<Record<string, unknown>>;
  /** An earlier attempt may have taken effect at the provider although no result of it is known. */
  mayHaveRun: boolean;
}

/** How a write ended; failures are thrown. */
export type WriteOutcome =
  | {
      kind: 'written';
      /** Stores what the provider answered, in the transaction that ends the job. No network here. */
      store?: (sql: Sql, at: Date) => Promise<void>;
    }
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
export type ProviderWriteHandler = (
  port: CalendarPort,
  account: ConnectedAccount,
  write: ProviderWrite,
) => Promise<WriteOutcome>;

/** What each action does: rooms register theirs when their module starts. */
@Injectable()
export class ProviderWrites {
  readonly #handlers = new Map<JobAction, ProviderWriteHandler>();

  register(action: JobAction, handler: ProviderWriteHandler): void {
    if (this.#handlers.has(action)) throw new Error(`two handlers for ${action}`);
    this.#handlers.set(action, handler);
  }

  require(action: JobAction): ProviderWriteHandler {
    const handler = this.#handlers.get(action);
    if (!handler) throw new Error(`no handler for ${action}`);
    return handler;
  }
}
