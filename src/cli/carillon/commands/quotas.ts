import { example, limitOption } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

/** Adds `carillon quotas`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('list')
    .description('list use: limits that were reached first, then by use')
    .option('--reached', 'only limits that were reached')
    .addOption(limitOption())
    .addHelpText(...example('quotas list --reached'))
    .action(async ({ limit, reached = false }: { limit: number; reached?: boolean }) => {
      const { listQuotaUse } =
        await import('../../../accounts/account-management/list-quota-use.ts');
      const uses = await cli.withServices(({ database, clock }) =>
        listQuotaUse(database, clock.now(), reached, limit),
      );
      const rows = uses.map(({ alertedAt, owner, ...use }) => ({
        ...use,
        owner: owner ?? use.ownerId,
        reachedAt: alertedAt,
      }));
      cli.printRows(rows, ['quota', 'per', 'owner', 'used', 'reached_at']);
    });
};
