import { type Command, Option } from 'commander';
import {
  APPLICATION_STATES,
  type ApplicationDetail,
  type ApplicationFilter,
  type ApplicationItem,
  type OperatorHold,
} from '../../../operator/applications/application-item.ts';
import type { OperatorApplications } from '../../../operator/applications/operator-applications.ts';
import { MOST_PAGE_ITEMS } from '../../../platform/database/page-token.ts';
import { localTime } from '../../terminal/cells.ts';
import { example, FILTERS, reasonOption } from '../arguments.ts';
import { type OperatorCli, readable, readableWhole } from '../cli.ts';

const COLUMNS = [
  'client_id',
  'name',
  'plan',
  'features',
  'region',
  'accounts',
  'invalid_accounts',
  'state',
  'created_at',
] as const;
const DELETION_COLUMNS = [
  'client_id',
  'name',
  'requested_at',
  'requested_by',
  'accounts_deleted',
  'accounts',
  'step',
  'finished_at',
  'last_error',
] as const;

async function withApplications<T>(
  cli: OperatorCli,
  work: (applications: OperatorApplications) => Promise<T>,
): Promise<T> {
  const { OperatorApplications } =
    await import('../../../operator/applications/operator-applications.ts');
  return cli.withServices(({ database, clock }) => work(new OperatorApplications(database, clock)));
}

const heldSince = (hold: OperatorHold | null): string | null =>
  hold && `since ${localTime(hold.since)}${hold.reason ? `: ${hold.reason}` : ''}`;

function describe(cli: OperatorCli, application: ApplicationDetail): string {
  const { sendingPaused, suspended, deletion, integrations, webhooks, ...rest } = application;
  const shown = {
    ...rest,
    sendingPaused: heldSince(sendingPaused),
    suspended: heldSince(suspended),
    deletion:
      deletion &&
      `${deletion.accountsDeleted} of ${deletion.accounts} accounts are gone; now: ${deletion.step}`,
    integrations: integrations.map(({ provider }) => provider),
    webhooks: `${webhooks.active} active, ${webhooks.failing} failing, ${webhooks.failed} failed`,
  };
  return cli.table(readable(shown));
}

const print = (cli: OperatorCli, application: ApplicationDetail) =>
  cli.print(readableWhole(application), () => describe(cli, application));

interface ListFlags {
  state?: NonNullable<ApplicationFilter['state']>;
  search?: string;
}

/** Every application, page after page: there are few. */
async function listAll(cli: OperatorCli, filter: ListFlags): Promise<ApplicationItem[]> {
  return withApplications(cli, async (applications) => {
    const all: ApplicationItem[] = [];
    let pageToken: string | undefined;
    do {
      const page = await applications.list(filter, { limit: MOST_PAGE_ITEMS, pageToken });
      all.push(...page.items);
      pageToken = page.nextPageToken ?? undefined;
    } while (pageToken !== undefined);
    return all;
  });
}

const stateOf = ({ deletion, suspended, sendingPaused }: ApplicationItem): string => {
  if (deletion) return 'deleting';
  if (suspended) return 'suspended';
  return sendingPaused ? 'sending-paused' : 'active';
};

/** Adds the commands that show applications. */
export function addLists(group: Command, cli: OperatorCli): void {
  group
    .command('list')
    .description('list applications, oldest first')
    .optionsGroup(FILTERS)
    .addOption(
      new Option('--state <state>', 'only applications in this state').choices(APPLICATION_STATES),
    )
    .option('--search <text>', 'only applications with this text in their name or client id')
    .addHelpText(...example('application list --state=suspended'))
    .action(async (filter: ListFlags) => {
      const all = await listAll(cli, filter);
      const rows = all.map((one) => ({ ...readable(one), state: stateOf(one) }));
      cli.print(readableWhole(all), () => cli.table(rows, COLUMNS), { rows, columns: COLUMNS });
    });
  group
    .command('show <client_id>')
    .description('show one application: accounts, state, webhooks, progress of its deletion')
    .addHelpText(...example('application show <client_id>'))
    .action(async (clientId: string) =>
      print(cli, await withApplications(cli, (all) => all.get(clientId))),
    );
  group
    .command('deletions')
    .description('list deletions that run, and those that ended within 90 days, newest first')
    .addHelpText(...example('application deletions'))
    .action(async () => {
      const deletions = await withApplications(cli, (all) => all.deletions());
      cli.printRows(deletions, DELETION_COLUMNS);
    });
}

/** What a command does to an application. */
type Act = (
  all: OperatorApplications,
  clientId: string,
  reason: string | null,
) => Promise<ApplicationDetail>;

/** Adds the commands that stop an application, let it continue, or delete it. */
export function addSteering(group: Command, cli: OperatorCli): void {
  const add = (name: string, description: string, act: Act) =>
    group
      .command(`${name} <client_id>`)
      .description(description)
      .addHelpText(...example(`application ${name} <client_id>`))
      .action(async (clientId: string, { reason }: { reason?: string }) =>
        print(cli, await withApplications(cli, (all) => act(all, clientId, reason ?? null))),
      );
  add(
    'pause',
    'pause the sending of all accounts; a message still fails at its deadline',
    (all, clientId, reason) => all.pauseSending(cli.actor, clientId, reason),
  ).addOption(reasonOption());
  add('resume', 'resume sending; pauses of single accounts last', (all, clientId) =>
    all.resumeSending(cli.actor, clientId),
  );
  add(
    'suspend',
    'refuse all requests, and stop sending and syncing; nothing is lost',
    (all, clientId, reason) => all.suspend(cli.actor, clientId, reason),
  ).addOption(reasonOption());
  add('unsuspend', 'end the suspension; mailboxes are synced again at once', (all, clientId) =>
    all.unsuspend(cli.actor, clientId),
  );
  group
    .command('delete <client_id>')
    .description(
      'delete the application with all its data; workers do it in batches, and it cannot be undone',
    )
    .requiredOption('--confirm <client_id>', 'the client id or the name again')
    .addHelpText(...example('application delete <client_id> --confirm=<client_id>'))
    .action(async (clientId: string, { confirm }: { confirm: string }) =>
      print(cli, await withApplications(cli, (all) => all.delete(cli.actor, clientId, confirm))),
    );
}
