import { type Command, Option } from 'commander';
import { ConflictError } from '../../../platform/base/errors/domain-error.ts';
import type { AppConfig } from '../../../platform/config/app-config.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type {
  ListedOperator,
  OperatorsService,
} from '../../../operator/access/operators.service.ts';
import type {
  ListedOperatorToken,
  OperatorTokensService,
} from '../../../operator/access/operator-tokens.service.ts';
import { OPERATOR_ROLES, type OperatorRole } from '../../../platform/config/operator-roles.ts';
import { example, secondsOf } from '../arguments.ts';
import type { AddCommands, OperatorCli } from '../cli.ts';

const COLUMNS = [
  'name',
  'role',
  'disabled_at',
  'has_password',
  'tokens',
  'sessions',
  'last_sign_in_at',
] as const;
const TOKEN_COLUMNS = ['id', 'operator', 'note', 'role', 'expires_at', 'last_used_at'] as const;

const roleOption = (description: string): Option =>
  new Option('--role <role>', description).choices(OPERATOR_ROLES);

async function withOperators<T>(
  cli: OperatorCli,
  work: (operators: OperatorsService) => Promise<T>,
): Promise<T> {
  const { OperatorsService: Service } =
    await import('../../../operator/access/operators.service.ts');
  return cli.withServices(({ config, database, clock }) =>
    work(new Service(database, clock, issuerOf(config))),
  );
}

const issuerOf = ({ operator }: AppConfig): string | null => operator.oidc?.issuer ?? null;

interface Force {
  force?: boolean;
}

/** For changes that are refused if nobody could sign in with full rights afterwards. */
const forceOption = (): Option =>
  new Option('--force', 'even if nobody is left who can sign in with the role operate');

function addOperators(group: Command, cli: OperatorCli): void {
  group
    .command('create <name>')
    .description('create an operator; without --password it signs in by link or uses tokens')
    .addOption(roleOption('read: sees everything; operate: also changes things').default('read'))
    .option('--password', 'ask for a password of 12 to 200 characters, or read it from a pipe')
    .addHelpText(...example('operator create ada --role=operate'))
    .action(async (name: string, flags: { role: OperatorRole; password?: boolean }) => {
      const password = flags.password ? await cli.askSecret(`Password for ${name}: `) : null;
      const id = await withOperators(cli, (operators) =>
        operators.create(cli.actor, { name, role: flags.role, password }),
      );
      const next = await signInHint(cli, name, password !== null);
      cli.printObject({ id, name: name.toLowerCase(), role: flags.role }, next);
    });
  group
    .command('list')
    .description('list the operators')
    .addHelpText(...example('operator list'))
    .action(async () => {
      const all: ListedOperator[] = await withOperators(cli, (operators) => operators.list());
      cli.printRows(all, COLUMNS);
    });
}

function addChanges(group: Command, cli: OperatorCli): void {
  group
    .command('set-password <name>')
    .description('set a password, asked for or read from a pipe; ends all sessions of the operator')
    .option('--none', 'remove the password instead')
    .addOption(forceOption())
    .addHelpText(...example('operator set-password ada'))
    .action(async (name: string, { none, ...options }: { none?: boolean } & Force) => {
      const password = none ? null : await cli.askSecret(`New password for ${name}: `);
      await withOperators(cli, (operators) =>
        operators.setPassword(cli.actor, name, password, options),
      );
      cli.print({ name, has_password: !none }, `${name} has ${none ? 'no' : 'a new'} password.`);
    });
  group
    .command('set-role <name>')
    .description('change what an operator may do; ends all sessions of the operator')
    .addOption(roleOption('the new role').makeOptionMandatory())
    .addOption(forceOption())
    .addHelpText(...example('operator set-role ada --role=read'))
    .action(async (name: string, { role, ...options }: { role: OperatorRole } & Force) => {
      await withOperators(cli, (operators) => operators.setRole(cli.actor, name, role, options));
      cli.print({ name, role }, `${name} has the role ${role}.`);
    });
  group
    .command('disable <name>')
    .description('refuse all sign-ins and tokens of an operator until it is enabled again')
    .addOption(forceOption())
    .addHelpText(...example('operator disable ada'))
    .action(async (name: string, options: Force) => {
      await withOperators(cli, (operators) => operators.disable(cli.actor, name, options));
      cli.print({ disabled: name }, `${name} can neither sign in nor use tokens.`);
    });
  group
    .command('enable <name>')
    .description('let a disabled operator sign in and use tokens again')
    .addHelpText(...example('operator enable ada'))
    .action(async (name: string) => {
      await withOperators(cli, (operators) => operators.enable(cli.actor, name));
      cli.print({ enabled: name }, `${name} can sign in again.`);
    });
  group
    .command('remove <name>')
    .description('remove an operator with all sessions and tokens')
    .addOption(forceOption())
    .addHelpText(...example('operator remove ada'))
    .action(async (name: string, options: Force) => {
      await withOperators(cli, (operators) => operators.remove(cli.actor, name, options));
      cli.print({ removed: name }, `${name} is no operator any more.`);
    });
}

/** The variable that decides the address of the console. */
function settingOf({ environment }: OperatorCli): string {
  const names = ['OPERATOR_URL', 'OPERATOR_PORT', 'BASE_URL', 'PORT'];
  return names.find((name) => environment[name]) ?? 'the default of PORT';
}

/**
 * The address of the console: that of a running process, which may have other settings than this
 * command, else that of the settings here.
 * @throws {ConflictError} if no process of this installation serves the console
 */
async function consoleUrl(cli: OperatorCli, sql: Sql, config: AppConfig): Promise<string> {
  const [{ runningConsoles }, { servesConsole }] = await Promise.all([
    import('../../../app/keys/running-processes.ts'),
    import('../../../platform/config/sections/operator-config.ts'),
  ]);
  const running = await runningConsoles(sql);
  const { url } = config.operator;
  if (running.includes(url)) return url;
  const [latest] = running;
  if (latest !== undefined) return latest;
  if (!servesConsole(config))
    throw new ConflictError(
      'operator.no-console',
      'No process serves the console: set OPERATOR_PORT (docs/operators.md)',
    );
  cli.note(`No running process serves the console. The address ${url} is from ${settingOf(cli)}.`);
  return url;
}

/** How a new operator signs in, with the address of the console if a running process serves it. */
async function signInHint(cli: OperatorCli, name: string, hasPassword: boolean): Promise<string> {
  const { runningConsoles } = await import('../../../app/keys/running-processes.ts');
  const [url] = await cli.withServices(({ database }) => runningConsoles(database));
  const link = `carillon operator link ${name}`;
  if (url === undefined) return `To sign in to the console: ${link}`;
  return `To sign in to the console at ${url}/console: ${hasPassword ? `with the password, or ${link}` : link}`;
}

function addLink(group: Command, cli: OperatorCli): void {
  group
    .command('link [name]')
    .description(
      'print an address that signs an operator in to the console, once and within an hour; without a name: the only operator',
    )
    .addHelpText(...example('operator link ada'))
    .action(async (given: string | undefined) => {
      const [{ OperatorLinksService }, { OperatorsService: Service }, { onlyOperator }] =
        await Promise.all([
          import('../../../operator/access/operator-links.service.ts'),
          import('../../../operator/access/operators.service.ts'),
          import('../../../operator/access/only-operator.ts'),
        ]);
      const { url, endsAt } = await cli.withServices(async ({ config, database, clock }) => {
        const console = await consoleUrl(cli, database, config);
        const operators = new Service(database, clock, issuerOf(config));
        const name = given ?? onlyOperator(await operators.list());
        return new OperatorLinksService(database, clock, console).create(cli.actor, name);
      });
      cli.print({ url, ends_at: endsAt }, url);
    });
}

function addTokens(group: Command, cli: OperatorCli): void {
  const withTokens = async <T>(work: (tokens: OperatorTokensService) => Promise<T>): Promise<T> => {
    const service = await import('../../../operator/access/operator-tokens.service.ts');
    return cli.withServices(({ database, clock }) =>
      work(new service.OperatorTokensService(database, clock)),
    );
  };
  const tokens = group.command('token').description('Tokens for the admin API');
  tokens
    .command('create <operator>')
    .description('create a token; it is shown only this once')
    .option('--note <text>', 'what the token is for', '')
    .addOption(roleOption('the most that the token may do; default: the role of the operator'))
    .option('--expires <time>', 'lifetime, such as 12h or 90d; default: none', secondsOf)
    .addHelpText(...example('operator token create ada --note=monitoring --role=read'))
    .action(
      async (
        operatorName: string,
        flags: { note: string; role?: OperatorRole; expires?: number },
      ) => {
        const { note, role = null, expires: lifetimeSeconds = null } = flags;
        const wanted = { operatorName, note, role, lifetimeSeconds };
        const made = await withTokens((service) => service.create(cli.actor, wanted));
        const { id, token, signInDays: days } = made;
        const rule =
          days === null ? '' : ` It ends ${days} days after the last sign-in of ${operatorName}.`;
        cli.printObject(
          { id, token, role: made.role },
          `The token is shown only this once.${rule}`,
        );
      },
    );
  tokens
    .command('list')
    .description('list the tokens, without the tokens themselves')
    .addHelpText(...example('operator token list'))
    .action(async () => {
      const all: ListedOperatorToken[] = await withTokens((service) => service.list());
      cli.printRows(
        all.map(({ operatorName: operator, ...token }) => ({ ...token, operator })),
        TOKEN_COLUMNS,
      );
    });
  tokens
    .command('revoke <id>')
    .description('revoke a token from the next request on')
    .addHelpText(...example('operator token revoke <id>'))
    .action(async (id: string) => {
      await withTokens((service) => service.revoke(cli.actor, id));
      cli.print({ revoked: id }, 'The token is revoked.');
    });
}

/** Adds `carillon operator`. */
export const add: AddCommands = (group, cli) => {
  addOperators(group, cli);
  addChanges(group, cli);
  addLink(group, cli);
  addTokens(group, cli);
};
