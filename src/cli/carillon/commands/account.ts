import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  ACCOUNT_HEALTHS,
  type AccountDetail,
  type AccountHealth,
} from '../../../operator/accounts/account-health.ts';
import type { OperatorAccounts } from '../../../operator/accounts/operator-accounts.ts';
import { localTime } from '../../terminal/cells.ts';
import {
  accountIdOf,
  allOption,
  example,
  FILTERS,
  limitOption,
  OPTIONS,
  pageTokenOption,
  reasonOption,
} from '../arguments.ts';
import {
  type AddCommands,
  type OperatorCli,
  type PageFlags,
  readable,
  readableWhole,
} from '../cli.ts';

// In a narrow terminal, the last columns are left out.
const COLUMNS = [
  'id',
  'email',
  'health',
  'reason',
  'provider',
  'sync_state',
  'sync_lag_seconds',
  'client_id',
] as const;
const WATCH_COLUMNS = [
  'state',
  'kind',
  'resource',
  'expires_at',
  'notified_at',
  'failures',
  'error',
] as const;

interface ListFlags extends PageFlags {
  application?: string;
  provider?: string;
  server?: string;
  health?: AccountHealth;
  address?: string;
}

async function withAccounts<T>(
  cli: OperatorCli,
  work: (accounts: OperatorAccounts) => Promise<T>,
): Promise<T> {
  const { OperatorAccounts } = await import('../../../operator/accounts/operator-accounts.ts');
  return cli.withServices(({ database, clock }) =>
    work(new OperatorAccounts(database, clock, null)),
  );
}

/** The same with the connectors, which know the names of providers; takes a second longer. */
async function withNamedProviders<T>(
  cli: OperatorCli,
  work: (accounts: OperatorAccounts) => Promise<T>,
): Promise<T> {
  const [
    { OperatorAccessModule },
    { OperatorAccountsModule },
    { OperatorAccounts },
    { WorkThreadsModule },
  ] = await Promise.all([
    import('../../../operator/access/operator-access.module.ts'),
    import('../../../operator/accounts/operator-accounts.module.ts'),
    import('../../../operator/accounts/operator-accounts.ts'),
    import('../../../platform/threads/work-threads.module.ts'),
  ]);
  return cli.withContainer(
    (context) => work(context.get(OperatorAccounts, { strict: false })),
    [WorkThreadsModule, OperatorAccessModule, OperatorAccountsModule],
  );
}

/** Text for one account: what is wrong, then the facts, then its watches. */
function describe(cli: OperatorCli, account: AccountDetail): string {
  const { sync, messages, gate, watches, errors, problems, audit, quotas } = account;
  const facts = {
    id: account.id,
    email: account.email,
    provider: account.provider,
    application: `${account.applicationName} (${account.clientId})`,
    health: account.health,
    problems: problems
      .map(({ health, reason }) => (reason === null ? health : `${health}: ${reason}`))
      .join('; '),
    sync: `${sync.state}${sync.reason ? `: ${sync.reason}` : ''}`,
    history: `${sync.currentSince ? `listed since ${localTime(sync.currentSince)}` : 'being listed'}; ${sync.contentsLeft} messages to read`,
    nextPassAt: sync.nextPassAt,
    lagSeconds: sync.lagSeconds,
    failures: sync.failures,
    unreadableMessages: sync.unreadableMessages,
    circuitOpenUntil: gate.openUntil,
    openMessages: messages.open,
    pausedMessages: messages.paused,
    firstDeadline: messages.firstDeadline,
    auditedAt: audit?.checkedAt ?? null,
    quotas: quotas.map(({ quota, used }) => `${quota}: ${used} today`).join('; '),
    lastErrors: errors
      .map(({ what, at, text }) => `${what}${at ? ` at ${localTime(at)}` : ''}: ${text}`)
      .join('; '),
  };
  const shown = cli.table(readable(facts));
  if (watches.length === 0) return shown;
  return `${shown}\n${cli.table(watches.map(readable), WATCH_COLUMNS)}`;
}

const print = (cli: OperatorCli, account: AccountDetail) =>
  cli.print(readableWhole(account), () => describe(cli, account));

function addList(group: Command, cli: OperatorCli): void {
  group
    .command('list')
    .description('list accounts of all applications, those in trouble first')
    .optionsGroup(FILTERS)
    .option('--application <id>', 'only accounts of this application: its client id or id')
    .option(
      '--provider <name>',
      'only accounts of this provider: its name, or the one that account objects show',
    )
    .addOption(
      new Option(
        '--health <health>',
        'only accounts that have this problem, whatever else is wrong',
      ).choices(ACCOUNT_HEALTHS),
    )
    .option(
      '--server <server>',
      'only accounts whose last sync pass failed at this server, such as "mail.example.com:993 (IMAP)"',
    )
    .option('--address <text>', 'only accounts with this text in their address')
    .optionsGroup(OPTIONS)
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .addOption(allOption())
    .addHelpText(...example('account list --health=invalid-credentials --provider=imap'))
    .action(async ({ limit, pageToken, all, ...filter }: ListFlags) =>
      (filter.provider === undefined ? withAccounts : withNamedProviders)(cli, (accounts) =>
        cli.printPages({ limit, pageToken, all }, COLUMNS, (page) => accounts.list(filter, page)),
      ),
    );
  group
    .command('show')
    .description('show one account: everything that is wrong, sync, watches, messages, last errors')
    .argument('<id>', 'id of the account', accountIdOf)
    .addHelpText(...example('account show <id>'))
    .action(async (id: string) =>
      print(cli, await withAccounts(cli, (accounts) => accounts.get(id))),
    );
}

function addPause(group: Command, cli: OperatorCli): void {
  group
    .command('pause')
    .description(
      'pause sending: messages and reminders by email wait, direct sends are refused; a message still fails at its deadline',
    )
    .argument('<id>', 'id of the account', accountIdOf)
    .addOption(reasonOption())
    .addHelpText(...example("account pause <id> --reason='the mail server moves'"))
    .action(async (id: string, { reason }: { reason?: string }) =>
      print(
        cli,
        await withAccounts(cli, (accounts) => accounts.pauseSending(cli.actor, id, reason ?? null)),
      ),
    );
  group
    .command('resume')
    .description('resume sending: what became due meanwhile is sent now')
    .argument('<id>', 'id of the account', accountIdOf)
    .addHelpText(...example('account resume <id>'))
    .action(async (id: string) =>
      print(cli, await withAccounts(cli, (accounts) => accounts.resumeSending(cli.actor, id))),
    );
}

function secondsOf(value: string): number {
  const seconds = /^\d{1,6}$/.test(value) ? Number(value) : NaN;
  if (!(seconds >= 60 && seconds <= 86_400))
    throw new InvalidArgumentError('It must be a number of seconds from 60 to 86400.');
  return seconds;
}

function addSignInLink(group: Command, cli: OperatorCli): void {
  group
    .command('sign-in-link')
    .description(
      'make a link with which the user authenticates the account again; send it to the user only',
    )
    .argument('<id>', 'id of the account', accountIdOf)
    .option('--expires-in <seconds>', 'lifetime of the link', secondsOf, 1_800)
    .addHelpText(...example('account sign-in-link <id> --expires-in=3600'))
    .action(async (id: string, { expiresIn }: { expiresIn: number }) => {
      const [
        { OperatorAccessModule },
        { OperatorAccountsModule },
        { SignInLinksService },
        { WorkThreadsModule },
      ] = await Promise.all([
        import('../../../operator/access/operator-access.module.ts'),
        import('../../../operator/accounts/operator-accounts.module.ts'),
        import('../../../operator/accounts/sign-in-links.service.ts'),
        import('../../../platform/threads/work-threads.module.ts'),
      ]);
      const link = await cli.withContainer(
        (context) =>
          context.get(SignInLinksService, { strict: false }).create(cli.actor, id, expiresIn),
        [WorkThreadsModule, OperatorAccessModule, OperatorAccountsModule],
      );
      cli.print(
        readableWhole(link),
        `Send this link to ${link.email}; it works once, until ${localTime(link.expiresAt)}:\n${link.url}`,
      );
    });
}

function addRefreshToken(group: Command, cli: OperatorCli): void {
  group
    .command('refresh-token')
    .description(
      'get a new access token from the provider now, to see whether it still accepts the account; a refusal makes the account invalid',
    )
    .argument('<id>', 'id of an account that signed in by OAuth', accountIdOf)
    .addHelpText(...example('account refresh-token <id>'))
    .action(async (id: string) => {
      const [{ GrantsModule }, { TokenRefresh }, { WorkThreadsModule }] = await Promise.all([
        import('../../../accounts/grants/grants.module.ts'),
        import('../../../accounts/grants/credentials/token-refresh.ts'),
        import('../../../platform/threads/work-threads.module.ts'),
      ]);
      const expiresAt = await cli.withContainer(
        (context) => context.get(TokenRefresh, { strict: false }).refresh(id),
        [WorkThreadsModule, GrantsModule],
      );
      cli.print(
        { account_id: id, expires_at: expiresAt?.toISOString() ?? null },
        `The provider has given a new access token${expiresAt ? `, valid until ${localTime(expiresAt)}` : ''}.`,
      );
    });
}

/** Adds `carillon account`. */
export const add: AddCommands = (group, cli) => {
  addList(group, cli);
  addPause(group, cli);
  addSignInLink(group, cli);
  addRefreshToken(group, cli);
};
