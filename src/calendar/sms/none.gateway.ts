import { SmsError, SmsGateway } from './sms-gateway.ts';

/** No gateway: every text is refused. */
export class NoSmsGateway extends SmsGateway {
  async send(): Promise<void> {
    throw new SmsError('this server has no SMS gateway (SMS_GATEWAY=none)', 'refused');
  }
}
