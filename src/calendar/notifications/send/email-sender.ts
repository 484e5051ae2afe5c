import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import type { ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import {
  ConnectorRegistry,
  UnsupportedProviderError,
} from '../../../providers/port/connector-registry.ts';
import type { SentTraces } from '../../../providers/port/connector.ts';
import type { SendPhase } from '../../../platform/base/errors/provider-error.ts';
import { compose } from '../../../formats/mime/compose.ts';
import { failureOf, LeaseLostError, sendControl } from '../../../mail/outbox/send/hand-over.ts';
import { ownIdsAmong } from '../../../mail/outbox/own-ids.ts';
import type { DueReminder, ReminderLookUp, ReminderSender } from './due-reminder.ts';
import { deliveryOfProviderError, type ReminderDelivery } from './reminder-policy.ts';

/**
 * Sends email reminders from the account that owns the event, through its provider and without
 * tracking.
 */
@Injectable()
export class EmailReminderSender implements ReminderSender {
  readonly type = 'email';

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  async lookUp(reminder: DueReminder, account: ConnectedAccount): Promise<ReminderLookUp> {
    const { recipient, content, dueAt } = reminder;
    const { mailDomain } = this.config.outbox;
    const traces: SentTraces = {
      recipients: [recipient],
      subject: content['subject'] ?? '',
      since: dueAt,
      ownIdsAmong: (ids) => ownIdsAmong(this.database, account.accountId, ids, mailDomain),
    };
    const mail = this.connectors.requireMail(account.provider);
    const looked = await mail.findSent(account, messageIdOf(reminder), traces);
    // One that is only similar may be another reminder of the same event.
    if (looked.found) return 'sent';
    return looked.conclusive ? 'not-sent' : 'unproven';
  }

  async send(
    reminder: DueReminder,
    account: ConnectedAccount,
    lease: Lease,
  ): Promise<ReminderDelivery> {
    const { recipient, name, content } = reminder;
    const messageIdHeader = messageIdOf(reminder);
    const mime = await compose({
      from: { email: account.email, name: account.name },
      to: [{ email: recipient, name }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: content['subject'] ?? '',
      html: content['body'] ?? '',
      messageIdHeader,
      date: this.clock.now(),
      // Suppresses out-of-office replies and mailing list software (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    let reached: SendPhase | null = null;
    try {
      await this.connectors.requireMail(account.provider).send(
        account,
        {
          messageIdHeader,
          mime,
          envelope: { from: account.email, recipients: [recipient] },
          bcc: [],
        },
        sendControl(lease, (phase) => (reached = phase)),
      );
      return { kind: 'sent' };
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      return deliveryOf(error, reached);
    }
  }
}

function deliveryOf(error: unknown, phase: SendPhase | null): ReminderDelivery {
  if (error instanceof UnsupportedProviderError) return { kind: 'refused', reason: error.message };
  const { code, detail, retryAfterSeconds, ownLimit } = failureOf(error, phase);
  const delivery = deliveryOfProviderError(code, detail, retryAfterSeconds);
  return delivery.kind === 'not-yet' ? { ...delivery, ownLimit } : delivery;
}

function messageIdOf({ id, messageIdHeader }: DueReminder): string {
  if (!messageIdHeader) throw new Error(`email reminder ${id} has no Message-ID`);
  return messageIdHeader;
}
