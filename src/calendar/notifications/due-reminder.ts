import type { Lease } from '../../platform/work/dispatcher.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { ReminderDelivery } from './reminder-policy.ts';
import type { ReminderStatus, ReminderType } from './reminder-status.ts';

export interface DueReminder {
  id: string;
  accountId: string;
  type: ReminderType;
  /** Email address, phone number or URL. */
  recipient: string;
  /** The participant's; empty for webhooks. */
  name: string;
  /** `{subject, body}`, `{message}` or `{payload}`. */
  content: Readonly<Record<string, string>>;
  dueAt: Date;
  expiresAt: Date;
  status: ReminderStatus;
  /** Why the last attempt did not succeed; null before the first. */
  lastFailure: string | null;
  /** Email only; with angle brackets. */
  messageIdHeader: string | null;
  /** Features of the application as they are now. */
  features: readonly string[];
  /** Sealed secret of the application, for signatures. */
  secretSealed: string;
}

export interface ReminderSender {
  readonly type: ReminderType;
  /**
   * Whether an earlier attempt, whose end nobody saw, took effect. Absent: sending again does no harm, or there is
   * no way to tell.
   * @throws {Error} when the look-up fails
   */
  wasSent?(reminder: DueReminder, account: ConnectedAccount, lease: Lease): Promise<boolean>;
  /**
   * Sends once; failures are answers, anything else that is thrown is a surprise.
   * @throws {LeaseLostError} nothing was sent
   */
  send(reminder: DueReminder, account: ConnectedAccount, lease: Lease): Promise<ReminderDelivery>;
}
