import { SmsError, SmsGateway } from './sms-gateway.ts';

/** Used if no gateway is configured: refuses every text. */
export class NoSmsGateway extends SmsGateway {
  async send(): Promise<void> {
    throw new SmsError('this server has no SMS gateway (SMS_GATEWAY=none)', 'refused');
  }
}
