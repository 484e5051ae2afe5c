import type { Command } from 'commander';
import { ask, askSecret } from '../terminal/ask.ts';
import { formatAnswer, type OutputFormat } from '../terminal/output.ts';
import { terminalRoom } from '../terminal/table.ts';
import { ApiCommandError } from './error.ts';
import { call } from './groups/group.ts';
import {
  DEFAULT_PROFILE,
  profileName,
  readProfiles,
  removeProfile,
  saveProfile,
  type Settings,
} from './profiles.ts';
import { callApi } from './request.ts';
import { type ApiSettings, DEFAULT_API_URL } from './settings.ts';

interface LoginFlags extends Settings {
  profile?: string;
}

/** Completes the flags by questions, if there is a terminal. */
async function askForMissing(flags: LoginFlags): Promise<Settings> {
  const { profile: _profile, ...given } = flags;
  const settings: Settings = {
    api_url: given.api_url,
    integrations_url: given.integrations_url,
    access_token: given.access_token,
    client_id: given.client_id,
    client_secret: given.client_secret,
  };
  const complete = settings.access_token !== undefined || settings.client_secret !== undefined;
  if (complete) return settings;
  if (!process.stdin.isTTY)
    throw new ApiCommandError(
      'Give --access_token, or --client_id and --client_secret, or run the command in a terminal.',
    );
  settings.api_url ??= (await ask(`Address [${DEFAULT_API_URL}]: `)) || undefined;
  settings.access_token =
    (await askSecret('Access token of an account (empty: none): ')) || undefined;
  settings.client_id = (await ask('Client id of the application (empty: none): ')) || undefined;
  if (settings.client_id !== undefined)
    settings.client_secret = (await askSecret('Client secret: ')) || undefined;
  if (settings.access_token === undefined && settings.client_secret === undefined)
    throw new ApiCommandError(
      'Without an access token or a client secret there is nothing to store.',
    );
  return settings;
}

/** Calls the server with each credential. @returns what was found, for people */
async function verify(settings: ApiSettings): Promise<string[]> {
  const found: string[] = [];
  const read = async (path: string, credentials: 'access token' | 'client secret') => {
    const action = call(`GET ${path}`, '');
    const answer = await callApi({ action, credentials, query: [] }, settings);
    return ('json' in answer ? answer.json : {}) as Record<string, unknown>;
  };
  if (settings.accessToken) {
    const { email_address: email } = await read('/account', 'access token');
    found.push(`account ${String(email)}`);
  }
  if (settings.clientSecret) {
    const { application_name: name } = await read('/a/{client_id}', 'client secret');
    found.push(`application ${String(name)}`);
  }
  return found;
}

/** `login`: checks credentials at the server and stores them as a profile. */
async function login(flags: LoginFlags): Promise<string> {
  const name = profileName(flags.profile ?? DEFAULT_PROFILE);
  const given = await askForMissing(flags);
  const apiUrl = (given.api_url ?? DEFAULT_API_URL).replace(/\/+$/, '');
  if (!/^https?:\/\//.test(apiUrl) || !URL.canParse(apiUrl))
    throw new ApiCommandError('api_url must be an http(s) address');
  const settings = { ...given, api_url: apiUrl };
  const found = await verify({
    apiUrl,
    integrationsUrl: given.integrations_url ?? apiUrl,
    accessToken: given.access_token,
    clientId: given.client_id,
    clientSecret: given.client_secret,
  });
  saveProfile(process.env, name, settings);
  return `Stored the profile ${name}: ${found.join(', ')} at ${apiUrl}.\n`;
}

/** `profiles`: what is stored, without secrets. */
function listProfiles(format: OutputFormat): string {
  const rows = Object.entries(readProfiles(process.env)).map(([profile, settings]) => ({
    profile,
    api_url: settings.api_url ?? DEFAULT_API_URL,
    client_id: settings.client_id ?? null,
    has_access_token: settings.access_token !== undefined,
    has_client_secret: settings.client_secret !== undefined,
  }));
  const columns = ['profile', 'api_url', 'client_id', 'has_access_token', 'has_client_secret'];
  return formatAnswer(rows, format, columns, terminalRoom());
}

/** Adds `login`, `logout` and `profiles`. */
export function addProfiles(program: Command): void {
  program
    .command('login')
    .description(
      'store credentials as a profile, after the server has accepted them; asks for what no flag gives',
    )
    .action(async (_: unknown, command: Command) => {
      process.stdout.write(await login(command.optsWithGlobals<LoginFlags>()));
    });
  program
    .command('logout')
    .description('forget a profile on this machine; its token stays valid until it is revoked')
    .action((_: unknown, command: Command) => {
      const name = command.optsWithGlobals<LoginFlags>().profile ?? DEFAULT_PROFILE;
      removeProfile(process.env, name);
      process.stdout.write(`Removed the profile ${name}.\n`);
    });
  program
    .command('profiles')
    .description('list the stored profiles, without their secrets')
    .action((_: unknown, command: Command) => {
      const { output } = command.optsWithGlobals<{ output: OutputFormat }>();
      process.stdout.write(listProfiles(output));
    });
}
