#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import {
  APPLICATION_FEATURES,
  type ApplicationFeature,
  type Plan,
  PLANS,
} from '../platform/auth/plan.ts';
import {
  LONGEST_TOKEN_SECONDS,
  SHORTEST_TOKEN_SECONDS,
} from '../accounts/applications/applications.schema.ts';
import {
  ApplicationsService,
  type SignInRules,
} from '../accounts/applications/applications.service.ts';
import { isScope, type Scope, SCOPES } from '../platform/auth/scopes.ts';
import { SecretBox } from '../platform/base/crypto/secret-box.ts';
import { DomainError } from '../platform/base/errors/domain-error.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { forTerminal } from '../platform/base/text/plain-text.ts';
import { isId } from '../platform/base/ids/ids.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { type Region, REGIONS } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { requireRightKeys, WrongKeysError } from '../app/keys/key-check.ts';
import { LOCAL_ERRORS } from '../app/local/environment.ts';
import { auditTotals, listAudits } from '../accounts/sync-schedule/mirror-audits.ts';
import { listQuotaUse } from '../accounts/account-management/list-quota-use.ts';
import type { SmsMessage } from '../calendar/sms/sms-message.entity.ts';
import { fail } from '../app/startup.ts';
import { listFailures } from '../sync/sync-failures.ts';
import { addAccounts } from './account-command.ts';
import {
  type OutputOptions,
  showApplication,
  showApplications,
  showAudits,
  showAuditTotals,
  showFailures,
  showQuotas,
  showSms,
} from './carillon-output.ts';
import { addInstance, NotConfirmedError } from './instance-command.ts';
import { addKeys, UnopenedSecretsError } from './keys-command.ts';
import { main as migrate } from './migrate.ts';
import { withOperator } from './operator-context.ts';
import { addWatches } from './watches-command.ts';

/** Environment and output of the commands. Tests pass their own. */
export interface OperatorIo {
  environment: Readonly<Record<string, string | undefined>>;
  /** Prints one result. The text has no final line break. */
  print(text: string): void;
  /** Writes help and errors of the command line, as commander formats them. */
  write(text: string): void;
}

interface ApplicationFlags extends OutputOptions {
  name?: string;
  plan?: Plan;
  feature?: ApplicationFeature[];
  region?: Region;
  responseTypeToken?: boolean;
  allowedScopes?: Scope[] | 'all';
  accessTokenExpiresIn?: number | 'never';
  revokeTokensOnSignIn?: boolean;
}

/** Sign-in rules from the given flags. */
function rulesOf(flags: ApplicationFlags): SignInRules {
  return {
    allowsTokenResponse: flags.responseTypeToken,
    allowedScopes: flags.allowedScopes === 'all' ? null : flags.allowedScopes,
    tokenLifetime: flags.accessTokenExpiresIn === 'never' ? null : flags.accessTokenExpiresIn,
    revokesOlderTokens: flags.revokeTokensOnSignIn,
  };
}

function nameOf(value: string): string {
  const name = value.trim();
  if (!name || name.length > 200) throw new InvalidArgumentError('It needs 1 to 200 characters.');
  return name;
}

function countOf(value: string): number {
  const count = /^\d{1,6}$/.test(value) ? Number(value) : NaN;
  if (!(count > 0)) throw new InvalidArgumentError('It must be a positive number.');
  return count;
}

// Commander turns null into the empty string, so "no limit" is represented by a word.
function scopesOf(value: string): Scope[] | 'all' {
  const names = value.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0] === 'all') return 'all';
  const unknown = names.find((name) => !isScope(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `"${unknown}" is not a scope. Allowed are: all, ${SCOPES.join(', ')}.`,
    );
  return names.filter(isScope);
}

function lifetimeOf(value: string): number | 'never' {
  if (value === 'never') return value;
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (!(seconds >= SHORTEST_TOKEN_SECONDS && seconds <= LONGEST_TOKEN_SECONDS))
    throw new InvalidArgumentError(
      `It must be "never", or a number of seconds from ${SHORTEST_TOKEN_SECONDS} to ${LONGEST_TOKEN_SECONDS}.`,
    );
  return seconds;
}

/** Options for the sign-in rules of an application. */
const ruleOptions = () => [
  new Option('--response-type-token', 'allow response_type=token at /oauth/authorize'),
  new Option(
    '--allowed-scopes <scopes>',
    'scopes that sign-ins may grant, separated by commas; "all" for every scope',
  ).argParser(scopesOf),
  new Option(
    '--access-token-expires-in <seconds>',
    'lifetime of tokens from sign-ins; "never": they work until they are revoked',
  ).argParser(lifetimeOf),
  new Option(
    '--revoke-tokens-on-sign-in',
    'let a sign-in revoke the earlier tokens of its account',
  ),
];
const planOption = () =>
  new Option('--plan <plan>', 'quickstart allows one connected account').choices(PLANS);
const regionOption = () =>
  new Option('--region <region>', 'integrations address that it uses').choices(REGIONS);
const featureOption = () =>
  new Option('--feature <name...>', 'switch on; repeatable').choices(APPLICATION_FEATURES);

function addApplications(program: Command, { environment, print }: OperatorIo): void {
  const application = program
    .command('application')
    .alias('applications')
    .description('Applications that may use this server');
  const create = application
    .command('create')
    .description('create an application; its client secret is shown only this once')
    .requiredOption('--name <name>', 'name of the application', nameOf)
    .addOption(planOption().default('standard' satisfies Plan))
    .addOption(featureOption())
    .addOption(regionOption().default('us' satisfies Region))
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ApplicationFlags>();
      const { name = '', plan = 'standard', feature = [], region = 'us' } = flags;
      const made = await withOperator(environment, async (context) => {
        await requireRightKeys(context.get(Database), context.get(SecretBox));
        return context
          .get(ApplicationsService)
          .create({ name, plan, features: feature, region, ...rulesOf(flags) });
      });
      print(showApplication(made.application, flags, made.clientSecret));
    });
  const update = application
    .command('update <client_id>')
    .description(
      'change name, plan, features, region or sign-in rules; features replace the current ones',
    )
    .option('--name <name>', 'name of the application', nameOf)
    .addOption(planOption())
    .addOption(featureOption())
    .option('--no-features', 'switch all features off')
    .addOption(regionOption())
    .action(async (clientId: string, given: { features: boolean }, command: Command) => {
      const flags = command.optsWithGlobals<ApplicationFlags>();
      const { name, plan, feature, region } = flags;
      const features = given.features ? feature : (feature ?? []);
      const changed = await withOperator(environment, async (context) => {
        const applications = context.get(ApplicationsService);
        const { id } = await applications.findByClientId(clientId);
        return applications.update(id, { name, plan, features, region, ...rulesOf(flags) });
      });
      print(showApplication(changed, flags));
    });
  for (const command of [create, update])
    for (const option of ruleOptions()) command.addOption(option);
  update
    .option('--no-response-type-token', 'refuse response_type=token')
    .option('--no-revoke-tokens-on-sign-in', 'keep older tokens working after a sign-in');
  application
    .command('rotate-secret <client_id>')
    .description('create a new client secret; the old one is refused at once')
    .action(async (clientId: string, _: unknown, command: Command) => {
      const { application, clientSecret } = await withOperator(environment, async (context) => {
        await requireRightKeys(context.get(Database), context.get(SecretBox));
        return context.get(ApplicationsService).rotateSecret(clientId);
      });
      print(showApplication(application, command.optsWithGlobals(), clientSecret));
    });
  application
    .command('list')
    .description('list all applications, oldest first')
    .action(async (_: unknown, command: Command) => {
      const all = await withOperator(environment, (context) =>
        context.get(ApplicationsService).list(),
      );
      print(showApplications(all, command.optsWithGlobals()));
    });
}

const SMS = `
  select id, account_id as "accountId", phone_number as "phoneNumber", text, created_at as "createdAt"
  from sms_message order by id desc limit $1`;

function addSms(program: Command, { environment, print }: OperatorIo): void {
  program
    .command('sms')
    .description('Text messages that SMS_GATEWAY=recording stored instead of sending them')
    .command('list')
    .description('list messages, latest first')
    .option('--limit <n>', 'maximum number of entries', countOf, 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const messages = await withOperator(environment, (context) =>
        context.get(Database).query<SmsMessage>(SMS, [limit]),
      );
      print(showSms(messages, command.optsWithGlobals()));
    });
}

function addQuotas(program: Command, { environment, print }: OperatorIo): void {
  program
    .command('quotas')
    .description(
      'What accounts and applications have used today (UTC) of quotas for services that cost money',
    )
    .command('list')
    .description('list use: limits that were reached first, then by use')
    .option('--reached', 'only limits that were reached')
    .option('--limit <n>', 'maximum number of entries', countOf, 50)
    .action(
      async (
        { limit, reached = false }: { limit: number; reached?: boolean },
        command: Command,
      ) => {
        const uses = await withOperator(environment, (context) =>
          listQuotaUse(context.get(Database), context.get(Clock).now(), reached, limit),
        );
        print(showQuotas(uses, command.optsWithGlobals()));
      },
    );
}

function accountIdOf(value: string): string {
  if (!isId(value)) throw new InvalidArgumentError('It must be the id of an account.');
  return value;
}

function addMailbox(program: Command, { environment, print }: OperatorIo): void {
  const mailbox = program.command('mailbox').description('Mirrored mailboxes');
  mailbox
    .command('audits')
    .description(
      'list results of the audits that compare mailboxes with their mirrors, accounts with differences first',
    )
    .option('--account <id>', 'only this account', accountIdOf)
    .option('--limit <n>', 'maximum number of entries', countOf, 50)
    .option('--totals', 'sums of all audits since the installation exists, instead of accounts')
    .action(
      async (
        { account, limit, totals }: { account?: string; limit: number; totals?: boolean },
        command: Command,
      ) => {
        const options: OutputOptions = command.optsWithGlobals();
        const shown = await withOperator(environment, async (context) => {
          const database = context.get(Database);
          if (totals) return showAuditTotals(await auditTotals(database), options);
          return showAudits(await listAudits(database, new Date(), limit, account), options);
        });
        print(shown);
      },
    );
  mailbox
    .command('failures')
    .description(
      'list messages that could not be read, latest first; the mirror continued without their content',
    )
    .option('--account <id>', 'only this account', accountIdOf)
    .option('--limit <n>', 'maximum number of entries', countOf, 50)
    .action(async ({ account, limit }: { account?: string; limit: number }, command: Command) => {
      const failures = await withOperator(environment, (context) =>
        listFailures(context.get(Database), limit, account),
      );
      print(showFailures(failures, command.optsWithGlobals()));
    });
}

function createProgram(io: OperatorIo): Command {
  const program = new Command('carillon')
    .description(
      'Command for the operator of Carillon. Uses the database of DATABASE_URL, else the embedded one of DATA_DIR (.carillon).',
    )
    .option('--json', 'print JSON')
    .showHelpAfterError('(more: carillon --help)')
    .exitOverride()
    .configureOutput({ writeErr: io.write });
  addApplications(program, io);
  addKeys(program, io);
  addInstance(program, io);
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .action(() => migrate());
  addAccounts(program, accountIdOf, io);
  addMailbox(program, io);
  addWatches(program, countOf, io);
  addSms(program, io);
  addQuotas(program, io);
  return program;
}

/**
 * Runs one command.
 * @param args arguments without the program name
 * @throws {CommanderError} if the command line is wrong, and for `--help`; commander has already
 *   printed the message
 */
export async function run(args: readonly string[], io: OperatorIo): Promise<void> {
  await createProgram(io).parseAsync(args, { from: 'user' });
}

/**
 * The `carillon` command. Prints results on standard output, and errors on standard error with exit
 * code 1.
 */
export async function main(): Promise<void> {
  const print = (text: string): void => void process.stdout.write(`${forTerminal(text)}\n`);
  try {
    await run(process.argv.slice(2), {
      environment: process.env,
      print,
      write: (text) => void process.stderr.write(forTerminal(text)),
    });
  } catch (error) {
    if (error instanceof CommanderError) process.exit(error.exitCode);
    fail(error, [
      ...LOCAL_ERRORS,
      DomainError,
      ProviderError,
      UnopenedSecretsError,
      WrongKeysError,
      NotConfirmedError,
    ]);
  }
}

if (import.meta.main) await main();
