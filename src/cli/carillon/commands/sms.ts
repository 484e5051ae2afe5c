import type { SmsMessage } from '../../../calendar/sms/sms-message.entity.ts';
import { example, limitOption } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

const SMS = `
  select id, account_id as "accountId", phone_number as "phoneNumber", text, created_at as "createdAt"
  from sms_message order by id desc limit $1`;

/** Adds `carillon sms`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('list')
    .description('list messages, latest first')
    .addOption(limitOption())
    .addHelpText(...example('sms list --limit=10'))
    .action(async ({ limit }: { limit: number }) => {
      const messages = await cli.withServices(({ database }) =>
        database.query<SmsMessage>(SMS, [limit]),
      );
      cli.printRows(messages, ['created_at', 'account_id', 'phone_number', 'text']);
    });
};
