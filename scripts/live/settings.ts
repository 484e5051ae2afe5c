import { styleText } from 'node:util';
import { prompt, promptSecret, UsageError } from './prompt.ts';
import { PROVIDERS, type ProviderGuide } from './providers.ts';

/** What the run needs to know. Secrets are in memory only. */
export interface LiveSettings {
  provider: ProviderGuide;
  /** Settings of the integration, such as `client_id`. */
  integration: Record<string, unknown>;
  /** Instead of a sign-in in the browser; `null` if the user signs in there. */
  refreshToken: string | null;
  /** Address of the account; needed only with a refresh token of a client without id tokens. */
  email: string | null;
  scopes: string[];
  port: number;
  /** Settings of the operator that the temporary server gets. */
  server: Record<string, string>;
  /** Whether the run must not ask questions. */
  unattended: boolean;
  /** Whether what was seen of the company is written to a file, in `recordFolder`. */
  isRecorded: boolean;
  /** Whether the user will send a draft with classic Outlook when the run asks for it. */
  hasOutlook: boolean;
  recordFolder: string;
}

/** Port of the sign-in. It is fixed, because companies compare the redirect address. */
const PORT = 3111;
const ALL_SCOPES = ['email', 'calendar', 'contacts'];
/** Settings of Carillon that this program passes on. */
const PASSED_ON = [
  'EGRESS_ALLOW',
  'GOOGLE_URL',
  'LOG_LEVEL',
  'MICROSOFT_GRAPH_URL',
  'MICROSOFT_LOGIN_URL',
  'NODE_EXTRA_CA_CERTS',
  'PUSH_URL',
] as const;

export const USAGE = `npm run live -- ${Object.keys(PROVIDERS).join('|')} [--yes] [--record] [--outlook]

Tries Carillon with real credentials, prints what was checked, and removes everything it made.
--yes asks nothing. --record writes what was seen of the company, without personal data, to a file,
and uses up the quota of a minute to see which quotas a Google project has.
--outlook waits at the end until you have sent a draft with classic Outlook, for five minutes at most.
Variables (docs/providers/live.md):
  LIVE_CLIENT_ID, LIVE_CLIENT_SECRET   the application as registered at the company
  LIVE_TENANT                          Microsoft only: the tenant
  LIVE_REFRESH_TOKEN, LIVE_EMAIL       instead of a sign-in in the browser
  LIVE_SCOPES                          default: ${ALL_SCOPES.join(',')}
  LIVE_SETTINGS                        further settings of the integration, as JSON
  LIVE_RECORD_FOLDER                   of --record, default: the current folder
  PORT                                 default: ${PORT}`;

const FLAGS = ['--yes', '--record', '--outlook'];

type Environment = Readonly<Record<string, string | undefined>>;

function portOf(value: string | undefined): number {
  const port = Number(value ?? PORT);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError('PORT: must be a number from 1 to 65535');
}

function furtherSettings(value: string | undefined): Record<string, unknown> {
  try {
    const settings: unknown = JSON.parse(value ?? '{}');
    if (typeof settings === 'object' && settings !== null && !Array.isArray(settings))
      return settings as Record<string, unknown>;
  } catch {
    // The error below covers this case, too.
  }
  throw new UsageError('LIVE_SETTINGS: must be a JSON object, such as {"tenant":"example.com"}');
}

function providerOf(args: readonly string[]): ProviderGuide {
  const names = args.filter((arg) => !FLAGS.includes(arg));
  const [name] = names;
  const guide = name === undefined || names.length > 1 ? undefined : PROVIDERS[name];
  if (guide) return guide;
  throw new UsageError(USAGE);
}

/** The client from the variables, or asks for it. Settings that are already there stay. */
async function clientOf(
  { asks }: ProviderGuide,
  environment: Environment,
  given: Readonly<Record<string, unknown>>,
  unattended: boolean,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { setting, variable, question, isSecret, fallback } of asks) {
    if (setting in given) continue;
    const known = environment[variable]?.trim();
    if (!known && unattended && fallback === undefined)
      throw new UsageError(`${variable}: is required with --yes: ${question}`);
    const ask = isSecret ? promptSecret : prompt;
    const answer = known || (unattended ? '' : await ask(`${question}: `));
    const value = answer || fallback;
    if (!value) throw new UsageError(`${question}: is required`);
    found[setting] = value;
  }
  return found;
}

/**
 * Reads the command line and the environment, and asks for what is missing.
 * @throws {UsageError}
 */
export async function readSettings(
  args: readonly string[],
  environment: Environment,
): Promise<LiveSettings> {
  const provider = providerOf(args);
  const unattended = args.includes('--yes');
  const port = portOf(environment['PORT']);
  const given = furtherSettings(environment['LIVE_SETTINGS']);
  if (!unattended) introduce(provider, port);
  const client = await clientOf(provider, environment, given, unattended);
  return {
    provider,
    integration: { ...client, ...given },
    refreshToken: environment['LIVE_REFRESH_TOKEN']?.trim() || null,
    email: environment['LIVE_EMAIL']?.trim() || null,
    scopes: (environment['LIVE_SCOPES'] ?? ALL_SCOPES.join(',')).split(',').map((s) => s.trim()),
    port,
    server: Object.fromEntries(
      PASSED_ON.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    ),
    unattended,
    isRecorded: args.includes('--record'),
    hasOutlook: args.includes('--outlook'),
    recordFolder: environment['LIVE_RECORD_FOLDER'] || process.cwd(),
  };
}

function introduce({ title, register }: ProviderGuide, port: number): void {
  const lines = [
    styleText('bold', `Carillon with a real account of ${title}`),
    '',
    'This program starts a server of its own with a database that is deleted at the end.',
    'It reads the mailbox, sends two messages to the account itself, and creates, changes and',
    'deletes a draft, a label or folder, an event and a contact. It changes nothing else.',
    '',
    ...(register ? [register, `  ${callbackOf(port)}`, ''] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** The redirect address to register at the company. */
export function callbackOf(port: number): string {
  return `http://localhost:${port}/connect/callback`;
}
