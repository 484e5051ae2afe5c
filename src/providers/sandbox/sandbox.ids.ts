import { v5 } from 'uuid';

const NAMESPACE = 'b6c1a5f0-52a0-4b0e-9d51-6f6a2c1e7d10';

/** A mailbox of the sandbox: one address of one application. */
export interface Mailbox {
  applicationId: string;
  /** Lower case. */
  email: string;
}

/**
 * The same names in the same mailbox always produce the same id, so repeated calls are harmless.
 */
export function stableId({ applicationId, email }: Mailbox, ...names: readonly string[]): string {
  return v5(JSON.stringify([applicationId, email, ...names]), NAMESPACE);
}
