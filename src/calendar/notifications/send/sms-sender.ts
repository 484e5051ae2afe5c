import { Inject, Injectable } from '@nestjs/common';
import { internalReason } from '../../../platform/base/errors/internal-reason.ts';
import type { ApplicationFeature } from '../../../platform/auth/plan.ts';
import type { Lease } from '../../../platform/work/queue/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import type { ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import { phoneRefusal } from '../../sms/phone-numbers.ts';
import { SmsError, SmsGateway, type SmsRequest } from '../../sms/sms-gateway.ts';
import type { DueReminder, ReminderLookUp, ReminderSender } from './due-reminder.ts';
import type { ReminderDelivery } from './reminder-policy.ts';

const FEATURE: ApplicationFeature = 'sms';

/** Sends SMS reminders. The application must have the feature `sms` when the reminder is due. */
@Injectable()
export class SmsReminderSender implements ReminderSender {
  readonly type = 'sms';

  constructor(
    private readonly gateway: SmsGateway,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /**
   * Returns `not-sent` for a gateway without a look-up. Such a gateway checks dedupe keys itself,
   * so the text is sent again with the same key.
   */
  async lookUp(
    reminder: DueReminder,
    _account: ConnectedAccount,
    { signal }: Lease,
  ): Promise<ReminderLookUp> {
    const sent = await this.gateway.wasSent?.(requestOf(reminder), reminder.dueAt, signal);
    return sent ? 'sent' : 'not-sent';
  }

  async send(
    reminder: DueReminder,
    _account: ConnectedAccount,
    lease: Lease,
  ): Promise<ReminderDelivery> {
    if (!reminder.features.includes(FEATURE)) {
      return { kind: 'refused', reason: 'SMS is not enabled for this application' };
    }
    // Checked again, because the operator may have changed the list of countries since the event
    // was written.
    const refusal = phoneRefusal(reminder.recipient, this.config.quotas.smsCountries);
    if (refusal !== null)
      return { kind: 'refused', reason: `the number cannot be sent text messages: ${refusal}` };
    try {
      await this.gateway.send(requestOf(reminder), lease.signal);
      return { kind: 'sent' };
    } catch (error) {
      if (error instanceof SmsError) {
        const { failure, message: reason, retryAfterSeconds } = error;
        return failure === 'not-yet'
          ? { kind: failure, reason, retryAfterSeconds }
          : { kind: failure, reason };
      }
      // Aborted while sending, or a bug: the text may or may not have been sent.
      return { kind: 'unknown', reason: internalReason(error) };
    }
  }
}

function requestOf({ id, accountId, recipient, content, dueAt }: DueReminder): SmsRequest {
  return {
    accountId,
    to: recipient,
    text: content['message'] ?? '',
    dedupe: `reminder:${id}:${dueAt.getTime()}`,
  };
}
