import { Injectable } from '@nestjs/common';
import { openApplicationSecret } from '../../../accounts/applications/application-secrets.ts';
import { SecretBox } from '../../../platform/base/crypto/secret-box.ts';
import { EgressClient } from '../../../platform/egress/egress-client.ts';
import { EgressError } from '../../../platform/egress/egress-error.ts';
import { secondsToWait } from '../../../platform/egress/retry-after.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import type { ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import type { DueReminder, ReminderSender } from './due-reminder.ts';
import { REMINDER_ADDRESS } from '../plan/reminder-address.ts';
import { deliveryOfHttpStatus, type ReminderDelivery } from './reminder-policy.ts';
import { reminderSignature } from './reminder-signature.ts';

/**
 * Sends webhook reminders: the payload of the notification unchanged, to its URL, with a signature.
 * Delivery is at least once; receivers recognise duplicates by `webhook-id`.
 */
@Injectable()
export class WebhookReminderSender implements ReminderSender {
  readonly type = 'webhook';

  constructor(
    private readonly egress: EgressClient,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  async send(
    reminder: DueReminder,
    account: ConnectedAccount,
    { signal }: Lease,
  ): Promise<ReminderDelivery> {
    const payload = reminder.content['payload'] ?? '';
    const body = Buffer.from(payload);
    const secret = openApplicationSecret(
      this.secretBox,
      account.applicationId,
      reminder.secretSealed,
    );
    try {
      const { status, retryAfter } = await this.egress.post(
        reminder.recipient,
        body,
        {
          'content-type': contentTypeOf(payload),
          'x-reminder-signature': reminderSignature(secret, body),
          'webhook-id': reminder.id,
        },
        { signal, traced: true, ...REMINDER_ADDRESS },
      );
      return deliveryOfHttpStatus(status, secondsToWait(retryAfter, this.clock.now()));
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return { kind: error.kind === 'blocked' ? 'refused' : 'not-yet', reason: error.message };
    }
  }
}

function contentTypeOf(payload: string): string {
  try {
    JSON.parse(payload);
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}
