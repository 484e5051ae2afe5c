import { newId } from '../../platform/base/ids/ids.ts';
import type { Database } from '../../platform/database/sql.ts';
import { SmsGateway, type SmsRequest } from './sms-gateway.ts';

const RECORD = `
  insert into sms_message (id, account_id, phone_number, text, dedupe) values ($1, $2, $3, $4, $5)
  on conflict (dedupe) do nothing`;

/** Stores texts in the table `sms_message` instead of sending them, for development and tests. */
export class RecordingSmsGateway extends SmsGateway {
  constructor(private readonly database: Database) {
    super();
  }

  async send({ accountId, to, text, dedupe }: SmsRequest): Promise<void> {
    await this.database.query(RECORD, [newId(), accountId, to, text, dedupe]);
  }
}
