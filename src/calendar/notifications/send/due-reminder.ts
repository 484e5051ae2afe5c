import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import type { ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import type { ReminderDelivery } from './reminder-policy.ts';
import type { ReminderStatus } from '../../events/ports/event-reminders.ts';
import type { ReminderType } from '../reminder-status.ts';

export interface DueReminder {
  id: string;
  accountId: string;
  type: ReminderType;
  /** Email address, phone number or URL. */
  recipient: string;
  /** Name of the participant; empty for webhooks. */
  name: string;
  /** `{subject, body}`, `{message}` or `{payload}`. */
  content: Readonly<Record<string, string>>;
  dueAt: Date;
  expiresAt: Date;
  status: ReminderStatus;
  /** Why the last attempt did not succeed; `null` before the first attempt. */
  lastFailure: string | null;
  /** With angle brackets; only for email reminders. */
  messageIdHeader: string | null;
  /**
   * True for a recurring event whose first occurrence does not take place as its series says: it
   * was excluded, or changed or deleted on its own.
   */
  withoutFirst: boolean;
  /** Current features of the application. */
  features: readonly string[];
  /** Encrypted secret of the application, used for signatures. */
  secretSealed: string;
}

/**
 * Result of a look-up. `unproven`: the reminder was not found, but may have been sent, because the
 * provider does not file sent messages, or later than now.
 */
export type ReminderLookUp = 'sent' | 'not-sent' | 'unproven';

export interface ReminderSender {
  readonly type: ReminderType;
  /**
   * Finds out whether an earlier attempt with an unknown outcome was sent. A sender without this
   * method may safely send again, or has no means to find out.
   * @throws {Error} if the look-up fails
   */
  lookUp?(reminder: DueReminder, account: ConnectedAccount, lease: Lease): Promise<ReminderLookUp>;
  /**
   * Makes one attempt to send the reminder. Delivery failures are returned; a thrown error means a
   * bug or an abort.
   * @throws {LeaseLostError} if the lease was lost; nothing was sent
   */
  send(reminder: DueReminder, account: ConnectedAccount, lease: Lease): Promise<ReminderDelivery>;
}
