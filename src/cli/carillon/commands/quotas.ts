import { InvalidArgumentError } from 'commander';
import { example, limitOption } from '../arguments.ts';
import type { AddCommands } from '../cli.ts';

/** The columns of use at companies, as a person reads them. */
const COMPANY_COLUMNS = [
  'application',
  'api',
  'counts',
  'today',
  'ceiling',
  'month',
  'month_forecast',
  'paid_forecast',
  'cost_forecast',
] as const;

const addCompanies: AddCommands = (group, cli) => {
  group
    .command('companies')
    .description(
      'list what applications use of the APIs of Google and Microsoft, with a forecast to the end of the month',
    )
    .option('--application <id>', 'only this application, by its client id or id')
    .addHelpText(...example('quotas companies'))
    .action(async ({ application }: { application?: string }) => {
      const { OperatorApiUse } = await import('../../../operator/api-use/operator-api-use.ts');
      const { items, pricesCheckedOn } = await cli.withServices(({ database, config, clock }) =>
        new OperatorApiUse(database, config, clock).list(application),
      );
      const rows = items.map(({ application: { name, clientId }, ...state }) => ({
        application: name,
        clientId,
        ...state,
        pricesCheckedOn,
      }));
      cli.printRows(rows, COMPANY_COLUMNS);
    });
};

/** `default` is the ceiling of the setting. */
function unitsOf(text: string): number | null {
  if (text === 'default') return null;
  if (!/^\d{1,13}$/.test(text))
    throw new InvalidArgumentError('must be a whole number of at least 0, or "default"');
  return Number(text);
}

const addCeiling: AddCommands = (group, cli) => {
  group
    .command('ceiling')
    .description(
      'set what an application may use of an API in a day; 0: no ceiling, default: that of the setting',
    )
    .argument('<application>', 'client id or id of the application')
    .argument('<api>', '"gmail" (quota units) or "microsoft-graph" (requests)')
    .argument('<units>', 'a whole number, or "default"', unitsOf)
    .addHelpText(...example('quotas ceiling 4nq5tyrz0eawtupjd2i2g9r1z gmail 20000000'))
    .action(async (application: string, api: string, units: number | null) => {
      const { OperatorCeilings } = await import('../../../operator/api-use/operator-ceilings.ts');
      const set = await cli.withServices(({ database, config, clock }) =>
        new OperatorCeilings(database, config, clock).set(cli.actor, application, api, units),
      );
      cli.printObject({ ...set });
    });
};

/** Adds `carillon quotas`. */
export const add: AddCommands = (group, cli) => {
  addCompanies(group, cli);
  addCeiling(group, cli);
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
