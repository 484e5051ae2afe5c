import { Option } from 'commander';
import type { AuditFilter } from '../../../platform/audit/list-audit.ts';
import {
  allOption,
  example,
  FILTERS,
  instantOf,
  limitOption,
  OPTIONS,
  pageTokenOption,
} from '../arguments.ts';
import type { AddCommands, PageFlags } from '../cli.ts';

const COLUMNS = ['at', 'action', 'target', 'actor', 'address', 'details'] as const;
const KINDS = ['operator', 'application', 'token', 'system'] as const;

interface AuditFlags extends PageFlags {
  action?: string;
  target?: string;
  actor?: string;
  actorKind?: (typeof KINDS)[number];
  application?: string;
  account?: string;
  since?: Date;
  until?: Date;
}

/** Adds `carillon audit`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('list')
    .description('list who did what, newest first')
    .optionsGroup(FILTERS)
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
    .optionsGroup(OPTIONS)
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .addOption(allOption())
    .addHelpText(...example('audit list --action=account. --since=2d'))
    .action(async (flags: AuditFlags) => {
      const { AuditLogService } = await import('../../../operator/audit/audit-log.service.ts');
      const { limit, pageToken, all, action, target, actor, actorKind, since, until } = flags;
      const { application: applicationId, account: accountId } = flags;
      const what = { action, target, applicationId, accountId };
      const filter: AuditFilter = { ...what, actor, actorKind, since, until };
      await cli.withServices(({ database }) =>
        cli.printPages(
          { limit, pageToken, all },
          COLUMNS,
          (page) => new AuditLogService(database).list(filter, page),
          ({ actor: who, target: what, ...item }) => ({
            ...item,
            actor: `${who.kind} ${who.name}`,
            address: who.address,
            target: `${what.type} ${what.id}`,
          }),
        ),
      );
    });
};
