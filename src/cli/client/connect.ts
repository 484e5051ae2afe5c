import type { Command } from 'commander';
import { withProgress } from '../../platform/base/progress.ts';
import { ask, askSecret } from '../terminal/ask.ts';
import { readPairs } from './arguments.ts';
import { ApiCommandError } from './error.ts';
import { call } from './groups/group.ts';
import { profileName, profilesFile, readProfiles, saveProfile } from './profiles.ts';
import { callApi, requireSetting } from './request.ts';
import { type ApiSettings, DEFAULT_API_URL, readSettings } from './settings.ts';

interface ConnectFlags {
  profile?: string;
  name?: string;
  provider?: string;
  setting?: string[];
}

/** A mailbox to connect. */
interface Mailbox {
  email: string;
  name: string;
  provider: string;
  /** Servers and the like, without the password. */
  settings: Readonly<Record<string, string>>;
}

/** Names of `/connect/detect-provider` for accounts that accept no password. */
const MICROSOFT: readonly string[] = ['hotmail', 'outlook', 'office365'];
/** The same for accounts that accept only app passwords. */
const APP_PASSWORDS: readonly string[] = ['gmail', 'yahoo', 'icloud', 'aol'];
/** Questions for a password, before the command gives up. */
const MOST_ATTEMPTS = 3;

const say = (text: string): void => void process.stderr.write(text);

/** Calls an endpoint of native authentication, which takes the credentials in the body. */
async function post(
  path: string,
  settings: ApiSettings,
  body: object,
): Promise<Record<string, unknown>> {
  const application = {
    client_id: requireSetting(settings, 'clientId'),
    client_secret: requireSetting(settings, 'clientSecret'),
  };
  const request = {
    action: call(`POST ${path}`, ''),
    credentials: 'client secret' as const,
    query: [],
    body: JSON.stringify({ ...application, ...body }),
  };
  const answer = await callApi(request, settings);
  return ('json' in answer ? answer.json : {}) as Record<string, unknown>;
}

function microsoftError(email: string): ApiCommandError {
  return new ApiCommandError(
    `Microsoft accepts no passwords for ${email}. Its users sign in at Microsoft, in a browser:
  1. Register Carillon at Microsoft, and create an integration (docs/providers/microsoft.md).
  2. carillon-api auth post --body='{"provider":"microsoft","redirect_uri":"<one of the integration>"}'
  3. Open the url of the response. The browser returns with a code.
  4. Exchange the code at /oauth/token (docs/hosted-sign-in.md), and store the token with carillon-api login.
If this mailbox is on a company server that accepts passwords, add --provider=imap --setting imap_host=… --setting smtp_host=…`,
    'refused',
  );
}

/**
 * The provider of an address, by its domain.
 * @throws {ApiCommandError} if no mail server was found, or the provider accepts no password
 */
async function detect(email: string, settings: ApiSettings): Promise<string> {
  const { provider_name: found } = await withProgress(
    `Looking for the mail servers of ${email}`,
    () => post('/connect/detect-provider', settings, { email_address: email }),
    process.stderr.isTTY ? process.stderr : null,
  );
  const provider = typeof found === 'string' ? found : null;
  if (provider === null)
    throw new ApiCommandError(
      `Found no mail servers of ${email}. Name them: carillon-api connect ${email} --setting imap_host=… --setting smtp_host=…`,
      'not-found',
    );
  if (MICROSOFT.includes(provider)) throw microsoftError(email);
  if (APP_PASSWORDS.includes(provider))
    say(
      `This mailbox (${provider}) does not accept its normal password here. Create an app password in the security settings of the account, and use it instead.\n`,
    );
  return provider;
}

/** What the command line names, completed by detection and by a question on a terminal. */
async function mailboxOf(email: string, flags: ConnectFlags, api: ApiSettings): Promise<Mailbox> {
  const settings = Object.fromEntries(readPairs('--setting', flags.setting ?? []));
  const provider = flags.provider ?? ('imap_host' in settings ? 'imap' : await detect(email, api));
  const local = email.slice(0, email.lastIndexOf('@'));
  const asked =
    flags.name ?? (process.stdin.isTTY ? await ask(`Name of the sender [${local}]: `) : '');
  return { email, name: asked.trim() || local, provider, settings };
}

const isRefusedPassword = (error: unknown): boolean =>
  error instanceof ApiCommandError && /^settings\.(\w+_)?password\b/.test(error.message);

/**
 * Proves the mailbox with its password. On a terminal, a refused password is asked for again.
 * @returns a code
 * @throws {ApiCommandError}
 */
async function authorize(mailbox: Mailbox, settings: ApiSettings): Promise<string> {
  const { email, name, provider } = mailbox;
  for (let attempt = 1; ; attempt++) {
    // The sandbox accepts any password.
    const password = provider === 'sandbox' ? 'any' : await askSecret(`Password of ${email}: `);
    if (password === '')
      throw new ApiCommandError(
        'A password is needed: type it on a terminal, or give it as the first line of standard input.',
      );
    try {
      const { code } = await post('/connect/authorize', settings, {
        email_address: email,
        name,
        provider,
        settings: { ...mailbox.settings, password },
      });
      return String(code);
    } catch (error) {
      if (!process.stdin.isTTY || attempt === MOST_ATTEMPTS || !isRefusedPassword(error))
        throw error;
      say(`${(error as Error).message}\n`);
    }
  }
}

/** Where the token will be stored. @throws {ApiCommandError} before anybody types a password */
function targetOf(email: string, flags: ConnectFlags): string {
  if (flags.profile !== undefined) return profileName(flags.profile);
  try {
    return profileName(email);
  } catch {
    throw new ApiCommandError(
      `${email} cannot be the name of a profile. Choose one: carillon-api connect ${email} --profile <name>`,
    );
  }
}

const nextSteps = (email: string, profile: string): string => `
Send a first message, to the mailbox itself:

  carillon-api outbox post --profile=${profile} \\
    --body='{"to":[{"email":"${email}"}],"subject":"Hello","body":"<p>Hello from Carillon</p>"}'

See whether it was sent, and read the mailbox:

  carillon-api job-statuses get --profile=${profile} --output=table
  carillon-api messages get --profile=${profile} --limit=5 --output=table
`;

/**
 * `connect`: connects a mailbox with its password, and stores its access token as a profile.
 * @returns text for the terminal
 */
async function connect(email: string, flags: ConnectFlags): Promise<string> {
  if (!/^[^\s@'"]+@[^\s@'"]+$/.test(email))
    throw new ApiCommandError(`${email} is no mail address`);
  const target = targetOf(email, flags);
  const stored = readProfiles(process.env)[target];
  const { profile, ...others } = flags;
  const settings = readSettings(stored ? { ...others, profile } : others, process.env);
  const { apiUrl, integrationsUrl } = settings;
  if (stored && (stored.api_url ?? DEFAULT_API_URL) !== apiUrl)
    throw new ApiCommandError(
      `The profile ${target} is for ${stored.api_url ?? DEFAULT_API_URL}. Choose another one with --profile, or forget it: carillon-api logout --profile ${target}`,
      'refused',
    );
  const mailbox = await mailboxOf(email, flags, settings);
  const code = await authorize(mailbox, settings);
  const account = await post('/connect/token', settings, { code });
  saveProfile(process.env, target, {
    ...stored,
    api_url: apiUrl,
    ...(integrationsUrl === apiUrl ? {} : { integrations_url: integrationsUrl }),
    access_token: String(account['access_token']),
  });
  const { email_address: address, provider } = account;
  return `Connected ${String(address)} (${String(provider)}). Its access token is in the profile ${target} (${profilesFile(process.env)}).
${nextSteps(email, target)}`;
}

/** Adds `connect`. */
export function addConnect(program: Command): void {
  program
    .command('connect')
    .argument('<email>', 'address of the mailbox')
    .description(
      'connect a mailbox with its password, which is asked for or read from standard input, and store its token as a profile named like the address',
    )
    .option('--name <name>', 'name of the sender; default: the part of the address before the @')
    .option('--provider <name>', 'imap, gmail, sandbox …; default: found by the address')
    .option(
      '--setting <name=value>',
      'setting of the provider, such as imap_host; repeatable (docs/providers/imap.md)',
      (pair: string, all: string[] | undefined) => [...(all ?? []), pair],
    )
    .action(async (email: string, _: unknown, command: Command) => {
      process.stdout.write(await connect(email, command.optsWithGlobals<ConnectFlags>()));
    });
}
