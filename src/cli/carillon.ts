#!/usr/bin/env node
import { randomBytes } from 'node:crypto';
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
import { forTerminal } from '../platform/base/text/plain-text.ts';
import { isId, randomBase36 } from '../platform/base/ids/ids.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { type Region, REGIONS } from '../platform/config/app-config.ts';
import { Database } from '../platform/database/sql.ts';
import { giveUpKey, requireRightKeys, WrongKeysError } from '../app/keys/key-check.ts';
import { prepareReseal, reseal } from '../app/keys/reseal.ts';
import { LOCAL_ERRORS } from '../app/local/environment.ts';
import { listQuotaUse } from '../accounts/account-management/list-quota-use.ts';
import type { SmsMessage } from '../calendar/sms/sms-message.entity.ts';
import { fail } from '../app/startup.ts';
import { listFailures } from '../sync/sync-failures.ts';
import { formatJson } from './api-output.ts';
import {
  type OutputOptions,
  showApplication,
  showApplications,
  showFailures,
  showQuotas,
  showSms,
} from './carillon-output.ts';
import { addInstance, NotConfirmedError } from './instance-command.ts';
import { main as migrate } from './migrate.ts';
import { withOperator } from './operator-context.ts';

/** What the commands read and write; tests give their own. */
export interface OperatorIo {
  environment: Readonly<Record<string, string | undefined>>;
  /** One answer, without the line break at its end. */
  print(text: string): void;
  /** Help and what is wrong with the command line, as commander writes it. */
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

/** What sign-ins may do, of the flags that were given. */
function rulesOf(flags: ApplicationFlags): SignInRules {
  return {
    allowsTokenResponse: flags.responseTypeToken,
    allowedScopes: flags.allowedScopes === 'all' ? null : flags.allowedScopes,
    tokenLifetime: flags.accessTokenExpiresIn === 'never' ? null : flags.accessTokenExpiresIn,
    revokesOlderTokens: flags.revokeTokensOnSignIn,
  };
}

/** Some secrets cannot be opened by any key of the ring. */
class UnopenedSecretsError extends Error {
  override name = 'UnopenedSecretsError';
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

// Commander replaces null by the empty string: what means "no limit" keeps its name.
function scopesOf(value: string): Scope[] | 'all' {
  const names = value.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0] === 'all') return 'all';
  const unknown = names.find((name) => !isScope(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `"${unknown}" is no scope. There are: all, ${SCOPES.join(', ')}.`,
    );
  return names.filter(isScope);
}

function lifetimeOf(value: string): number | 'never' {
  if (value === 'never') return value;
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (!(seconds >= SHORTEST_TOKEN_SECONDS && seconds <= LONGEST_TOKEN_SECONDS))
    throw new InvalidArgumentError(
      `It must be never, or seconds from ${SHORTEST_TOKEN_SECONDS} to ${LONGEST_TOKEN_SECONDS}.`,
    );
  return seconds;
}

/** Options about what sign-ins of an application may do. */
const ruleOptions = () => [
  new Option('--response-type-token', 'let /oauth/authorize answer response_type=token'),
  new Option(
    '--allowed-scopes <scopes>',
    'the most that sign-ins may grant, with commas between them; all: every scope',
  ).argParser(scopesOf),
  new Option(
    '--access-token-expires-in <seconds>',
    'how long tokens of sign-ins work; never: until they are revoked',
  ).argParser(lifetimeOf),
  new Option(
    '--revoke-tokens-on-sign-in',
    'let a sign-in revoke the tokens its account had before',
  ),
];
const planOption = () =>
  new Option('--plan <plan>', 'quickstart: one connected account').choices(PLANS);
const regionOption = () =>
  new Option('--region <region>', 'which integrations address').choices(REGIONS);
const featureOption = () =>
  new Option('--feature <name...>', 'switch on; repeatable').choices(APPLICATION_FEATURES);

function addApplications(program: Command, { environment, print }: OperatorIo): void {
  const application = program
    .command('application')
    .alias('applications')
    .description('Applications: who may use this server');
  const create = application
    .command('create')
    .description('make one; its client secret is shown this once')
    .requiredOption('--name <name>', 'what it is called', nameOf)
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
      'change name, plan, features, region or what sign-ins may do; features replace the present ones',
    )
    .option('--name <name>', 'what it is called', nameOf)
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
    .option('--no-revoke-tokens-on-sign-in', 'let older tokens work on');
  application
    .command('rotate-secret <client_id>')
    .description('make a new client secret; the old one is refused at once')
    .action(async (clientId: string, _: unknown, command: Command) => {
      const { application, clientSecret } = await withOperator(environment, async (context) => {
        await requireRightKeys(context.get(Database), context.get(SecretBox));
        return context.get(ApplicationsService).rotateSecret(clientId);
      });
      print(showApplication(application, command.optsWithGlobals(), clientSecret));
    });
  application
    .command('list')
    .description('all of them, oldest first')
    .action(async (_: unknown, command: Command) => {
      const all = await withOperator(environment, (context) =>
        context.get(ApplicationsService).list(),
      );
      print(showApplications(all, command.optsWithGlobals()));
    });
}

function addKeys(program: Command, { environment, print }: Omit<OperatorIo, 'write'>): void {
  const keys = program
    .command('keys')
    .description('Keys that secrets are sealed with (ENCRYPTION_KEYS)');
  keys
    .command('generate')
    .description('print a new entry for ENCRYPTION_KEYS')
    .action((_: unknown, command: Command) => {
      const entry = `k${randomBase36(8)}:${randomBytes(32).toString('base64')}`;
      const { json } = command.optsWithGlobals<OutputOptions>();
      print(json ? formatJson({ encryption_key: entry }) : entry);
    });
  addLostKey(keys, { environment, print });
  keys
    .command('reseal')
    .description(
      'seal all secrets with the first key of ENCRYPTION_KEYS; refused while a running process does not know that key',
    )
    .option(
      '--force',
      'do it although processes that were running within the last minute do not know the key',
    )
    .action(async ({ force }: { force?: boolean }, command: Command) => {
      const { resealed, unopened } = await withOperator(environment, async (context) => {
        const [database, box] = [context.get(Database), context.get(SecretBox)];
        await prepareReseal(database, box, force);
        return reseal(database, box);
      });
      const { json } = command.optsWithGlobals<OutputOptions>();
      print(
        json
          ? formatJson({ resealed, unopened })
          : `${resealed} values sealed with the newest key.`,
      );
      if (unopened.length === 0) return;
      const rows = unopened.map(({ table, id }) => `  ${table} ${id}`);
      throw new UnopenedSecretsError(
        `${unopened.length} values open with no key of ENCRYPTION_KEYS and were left alone:\n${rows.join('\n')}`,
      );
    });
}

function addLostKey(keys: Command, { environment, print }: Omit<OperatorIo, 'write'>): void {
  keys
    .command('forget <id>')
    .description('start without a key that is lost; what is sealed with it stays closed for ever')
    .action(async (id: string, _: unknown, command: Command) => {
      await withOperator(environment, (context) =>
        giveUpKey(context.get(Database), context.get(SecretBox), id),
      );
      const text = `The key "${id}" is not waited for any more. Accounts sealed with it have to be connected again.`;
      print(command.optsWithGlobals<OutputOptions>().json ? formatJson({ forgotten: id }) : text);
    });
}

const SMS = `
  select id, account_id as "accountId", phone_number as "phoneNumber", text, created_at as "createdAt"
  from sms_message order by id desc limit $1`;

function addSms(program: Command, { environment, print }: OperatorIo): void {
  program
    .command('sms')
    .description('Text messages that SMS_GATEWAY=recording kept instead of sending them')
    .command('list')
    .description('the latest first')
    .option('--limit <n>', 'how many at most', countOf, 50)
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
    .description('What accounts and applications have used today (UTC) of what costs money')
    .command('list')
    .description('limits that were reached first, then by use')
    .option('--reached', 'only limits that were reached')
    .option('--limit <n>', 'how many at most', countOf, 50)
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
  program
    .command('mailbox')
    .description('Mailboxes that are mirrored')
    .command('failures')
    .description(
      'messages that could not be read, the latest first; the mirror has gone on without their content',
    )
    .option('--account <id>', 'of this account only', accountIdOf)
    .option('--limit <n>', 'how many at most', countOf, 50)
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
      'Operator of Carillon. Works on the database of DATABASE_URL, else on the embedded one of DATA_DIR (.carillon).',
    )
    .option('--json', 'answer in JSON')
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
  addMailbox(program, io);
  addSms(program, io);
  addQuotas(program, io);
  return program;
}

/**
 * Runs one command.
 * @param args without the program's own name
 * @throws {CommanderError} when the command line is wrong, which commander has told by then, and for `--help`
 */
export async function run(args: readonly string[], io: OperatorIo): Promise<void> {
  await createProgram(io).parseAsync(args, { from: 'user' });
}

/** The `carillon` command. Answers on standard output; errors on standard error with exit code 1. */
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
      UnopenedSecretsError,
      WrongKeysError,
      NotConfirmedError,
    ]);
  }
}

if (import.meta.main) await main();
