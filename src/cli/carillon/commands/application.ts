import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ListedApplication } from '../../../accounts/applications/list-applications.ts';
import type {
  ApplicationsService,
  SignInRules,
} from '../../../accounts/applications/applications.service.ts';
import {
  LONGEST_TOKEN_SECONDS,
  SHORTEST_TOKEN_SECONDS,
} from '../../../accounts/applications/token-lifetime.ts';
import {
  APPLICATION_FEATURES,
  type ApplicationFeature,
  type Plan,
  PLANS,
} from '../../../platform/auth/plan.ts';
import { isEmailAddress } from '../../../platform/base/text/address.ts';
import { LONGEST_OVERLAP_SECONDS } from '../../../platform/base/secret-overlap.ts';
import { isScope, type Scope, SCOPES } from '../../../platform/auth/scopes.ts';
import { type Region, REGIONS } from '../../../platform/config/regions.ts';
import { example, secondsOf } from '../arguments.ts';
import type { AddCommands, OperatorCli } from '../cli.ts';
import { addLists, addSteering } from './application-steering.ts';

interface ApplicationFlags {
  name?: string;
  plan?: Plan;
  feature?: ApplicationFeature[];
  region?: Region;
  /** False with `--no-contact-email`. */
  contactEmail?: string | false;
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

/** The contact address from the given flags; `null` removes it, `undefined` keeps it. */
const contactOf = ({ contactEmail }: ApplicationFlags): string | null | undefined =>
  contactEmail === false ? null : contactEmail;

function nameOf(value: string): string {
  const name = value.trim();
  if (!name || name.length > 200) throw new InvalidArgumentError('It needs 1 to 200 characters.');
  return name;
}

function emailOf(value: string): string {
  const email = value.trim();
  if (!isEmailAddress(email)) throw new InvalidArgumentError('It must be an email address.');
  return email;
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

/** Parses a time such as `24h` to seconds. */
function overlapOf(value: string): number {
  const seconds = secondsOf(value);
  if (seconds > LONGEST_OVERLAP_SECONDS) throw new InvalidArgumentError('It must be at most 30d.');
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
const contactOption = () =>
  new Option(
    '--contact-email <address>',
    'gets a mail when webhooks fail, stop or recover: at most one an hour',
  ).argParser(emailOf);
const featureOption = () =>
  new Option('--feature <name...>', 'switch on; repeatable').choices(APPLICATION_FEATURES);

const rowOf = (application: ListedApplication, clientSecret?: string) => ({
  client_id: application.clientId,
  ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
  name: application.name,
  plan: application.plan,
  features: application.features,
  region: application.region,
  contact_email: application.contactEmail ?? null,
  allow_response_type_token: application.allowsTokenResponse,
  allowed_scopes: application.allowedScopes ?? null,
  access_token_expires_in: application.tokenLifetime ?? null,
  revoke_tokens_on_sign_in: application.revokesOlderTokens,
  created_at: application.createdAt.toISOString(),
});

const SHOWN_ONCE = 'The client secret is shown only this once: store it now.';

async function withApplications<T>(
  cli: OperatorCli,
  work: (applications: ApplicationsService) => Promise<T>,
  encrypts = false,
): Promise<T> {
  const [{ ApplicationsService }, { requireRightKeys }, { SecretBox }, { Database }] =
    await Promise.all([
      import('../../../accounts/applications/applications.service.ts'),
      import('../../../app/keys/key-check.ts'),
      import('../../../platform/base/crypto/secret-box.ts'),
      import('../../../platform/database/sql.ts'),
    ]);
  return cli.withContainer(async (context) => {
    if (encrypts) await requireRightKeys(context.get(Database), context.get(SecretBox));
    return work(context.get(ApplicationsService));
  });
}

function addCreate(group: Command, cli: OperatorCli): Command {
  return group
    .command('create')
    .description('create an application; its client secret is shown only this once')
    .requiredOption('--name <name>', 'name of the application', nameOf)
    .addOption(planOption().default('standard' satisfies Plan))
    .addOption(featureOption())
    .addOption(regionOption().default('us' satisfies Region))
    .addOption(contactOption())
    .addHelpText(...example("application create --name='My app' --region=eu"))
    .action(async (flags: ApplicationFlags) => {
      const { name = '', plan = 'standard', feature = [], region = 'us' } = flags;
      const contactEmail = contactOf(flags);
      const { application, clientSecret } = await withApplications(
        cli,
        (applications) =>
          applications.create({
            name,
            plan,
            features: feature,
            region,
            contactEmail,
            ...rulesOf(flags),
          }),
        true,
      );
      cli.printObject(rowOf(application, clientSecret), SHOWN_ONCE);
    });
}

function addUpdate(group: Command, cli: OperatorCli): Command {
  return group
    .command('update <client_id>')
    .description(
      'change name, plan, features, region, contact address or sign-in rules; features replace the current ones',
    )
    .option('--name <name>', 'name of the application', nameOf)
    .addOption(planOption())
    .addOption(featureOption())
    .option('--no-features', 'switch all features off')
    .addOption(regionOption())
    .addOption(contactOption())
    .option('--no-contact-email', 'send no mails about webhooks')
    .addHelpText(...example('application update <client_id> --allowed-scopes=email.send,calendar'))
    .action(async (clientId: string, flags: ApplicationFlags & { features: boolean }) => {
      const { name, plan, feature, region } = flags;
      const features = flags.features ? feature : (feature ?? []);
      const change = { name, plan, features, region, contactEmail: contactOf(flags) };
      const changed = await withApplications(cli, async (applications) => {
        const { id } = await applications.findByClientId(clientId);
        return applications.update(id, { ...change, ...rulesOf(flags) });
      });
      cli.printObject(rowOf(changed));
    });
}

/** Adds `carillon application`. */
export const add: AddCommands = (group, cli) => {
  const create = addCreate(group, cli);
  const update = addUpdate(group, cli);
  for (const command of [create, update])
    for (const option of ruleOptions()) command.addOption(option);
  update
    .option('--no-response-type-token', 'refuse response_type=token')
    .option('--no-revoke-tokens-on-sign-in', 'keep older tokens working after a sign-in');
  group
    .command('rotate-secret <client_id>')
    .description('create a new client secret; the old one is refused at once, or after --keep-old')
    .addOption(
      new Option(
        '--keep-old <time>',
        'how long the old secret is accepted and signs webhooks as well: 24h or 7d, at most 30d',
      ).argParser(overlapOf),
    )
    .addHelpText(...example('application rotate-secret <client_id> --keep-old=24h'))
    .action(async (clientId: string, { keepOld }: { keepOld?: number }) => {
      const { application, clientSecret } = await withApplications(
        cli,
        (applications) => applications.rotateSecret(clientId, keepOld),
        true,
      );
      cli.printObject(rowOf(application, clientSecret), SHOWN_ONCE);
    });
  addLists(group, cli);
  addSteering(group, cli);
};
