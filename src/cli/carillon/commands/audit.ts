import { Option } from 'commander';
import type { AuditFilter } from '../../../platform/audit/list-audit.ts';
import { instantOf, limitOption, pageTokenOption } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

const COLUMNS = ['at', 'action', 'target', 'actor', 'address', 'details'] as const;
const KINDS = ['operator', 'application', 'token', 'system'] as const;

interface AuditFlags {
  action?: string;
  target?: string;
  actor?: string;
  actorKind?: (typeof KINDS)[number];
  application?: string;
  account?: string;
  since?: Date;
  until?: Date;
  limit: number;
  pageToken?: string;
}

/** Adds `carillon audit`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('list')
    .description('list who did what, newest first')
    .option('--action <name>', 'an action such as account.pause, or all of a subject: account.')
    .option('--target <id>', 'id of what was changed')
    .option('--actor <name>', 'id or name of who did it')
    .addOption(new Option('--actor-kind <kind>', 'kind of who did it').choices(KINDS))
    .option('--application <id>', 'id of an application')
    .option('--account <id>', 'id of an account')
    .option(
      '--since <time>',
      'only entries from then on, such as 2026-12-01 or 2h (ago)',
      instantOf,
    )
    .option('--until <time>', 'only entries before then', instantOf)
    .addOption(pageTokenOption())
    .addOption(limitOption())
    .action(async (flags: AuditFlags) => {
      const { AuditLog } = await import('../../../operator/audit/audit-log.service.ts');
      const { limit, pageToken, application: applicationId, account: accountId, ...rest } = flags;
      const filter: AuditFilter = { ...rest, applicationId, accountId };
      const { items, nextPageToken } = await cli.withServices(({ database }) =>
        new AuditLog(database).list(filter, { limit, pageToken }),
      );
      const rows = items.map(({ actor, target, ...item }) => ({
        ...item,
        actor: cli.json ? actor : `${actor.kind} ${actor.name}`,
        address: actor.address,
        target: cli.json ? target : `${target.type} ${target.id}`,
      }));
      const more = nextPageToken === null ? undefined : `More: --page-token ${nextPageToken}`;
      cli.printRows(rows, COLUMNS, more);
    });
};
