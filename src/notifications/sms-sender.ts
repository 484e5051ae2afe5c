import { Injectable } from '@nestjs/common';
import type { ApplicationFeature } from '../applications/plan.ts';
import { SmsError, SmsGateway } from '../sms/sms-gateway.ts';
import type { DueReminder, ReminderSender } from './due-reminder.ts';
import type { ReminderDelivery } from './reminder-policy.ts';

const FEATURE: ApplicationFeature = 'sms';

/** SMS reminders, for applications that have the feature when the reminder is due (spec 4.5 rule 4). */
@Injectable()
export class SmsReminderSender implements ReminderSender {
  readonly type = 'sms';

  constructor(private readonly gateway: SmsGateway) {}

  async send({ id, accountId, recipient, content, dueAt, features }: DueReminder): Promise<ReminderDelivery> {
    if (!features.includes(FEATURE)) {
      return { kind: 'refused', reason: 'SMS is not enabled for this application' };
    }
    try {
      await this.gateway.send({
        accountId,
        to: recipient,
        text: content['message'] ?? '',
        dedupe: `reminder:${id}:${dueAt.getTime()}`,
      });
      return { kind: 'sent' };
    } catch (error) {
      if (!(error instanceof SmsError)) throw error;
      return { kind: error.permanent ? 'refused' : 'not-yet', reason: error.message };
    }
  }
}
