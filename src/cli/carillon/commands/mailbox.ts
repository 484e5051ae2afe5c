import { accountIdOf, example, limitOption } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

const FAILURE_COLUMNS = [
  'last_at',
  'account_id',
  'email',
  'provider_id',
  'times',
  'retry_at',
  'reason',
];
const TOTAL_COLUMNS = [
  'kind',
  'audits',
  'compared',
  'missing',
  'surplus',
  'changed',
  'repaired',
  'skipped',
];
const AUDIT_COLUMNS = [
  'checked_at',
  'overdue_since',
  'account_id',
  'email',
  'messages_checked',
  'missing',
  'surplus',
  'misplaced',
  'repaired',
  'unrepaired',
  'folders_skipped',
  'events_checked',
  'events_repaired',
  'events_skipped',
  'contacts_checked',
  'contacts_repaired',
  'contacts_skipped',
];

interface ListFlags {
  account?: string;
  limit: number;
}

/** Adds `carillon mailbox`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('audits')
    .description(
      'list results of the audits that compare mailboxes with their mirrors, accounts with differences first',
    )
    .option('--account <id>', 'only this account', accountIdOf)
    .addOption(limitOption())
    .option('--totals', 'sums of all audits since the installation exists, instead of accounts')
    .addHelpText(...example('mailbox audits --account=<id>'))
    .action(async ({ account, limit, totals }: ListFlags & { totals?: boolean }) => {
      const { auditTotals, listAudits } =
        await import('../../../accounts/sync-schedule/audit-lists.ts');
      await cli.withServices(async ({ database, clock }) => {
        if (totals) cli.printRows(await auditTotals(database), TOTAL_COLUMNS);
        else cli.printRows(await listAudits(database, clock.now(), limit, account), AUDIT_COLUMNS);
      });
    });
  group
    .command('failures')
    .description(
      'list messages, calendar files and address cards that could not be read, or only in part, latest first; the mirror continued without what could not be read',
    )
    .option('--account <id>', 'only this account', accountIdOf)
    .addOption(limitOption())
    .addHelpText(...example('mailbox failures --limit=10'))
    .action(async ({ account, limit }: ListFlags) => {
      const { listFailures } = await import('../../../sync/failures/sync-failures.ts');
      const failures = await cli.withServices(({ database }) =>
        listFailures(database, limit, account),
      );
      cli.printRows(failures, FAILURE_COLUMNS);
    });
};
