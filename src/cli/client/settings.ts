import os from 'node:os';
import path from 'node:path';
import { ApiCommandError } from './error.ts';
import {
  DEFAULT_PROFILE,
  readJsonFile,
  readProfiles,
  type SettingName,
  type Settings,
  settingsOf,
  unknownProfile,
} from './profiles.ts';

/** Settings that every request needs. */
export interface ApiSettings {
  /** Without a trailing slash. */
  apiUrl: string;
  /** Address of integrations and grants; default: the main address. */
  integrationsUrl: string;
  accessToken?: string;
  clientId?: string;
  clientSecret?: string;
}

export const DEFAULT_API_URL = 'http://localhost:3000';

type Values = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** The default file with settings. `--config_file` or CARILLON_CONFIG_FILE name another one. */
function defaultConfigFile(): string {
  return path.join(os.homedir(), '.carillon', 'config.json');
}

function readConfigFile(named: string | undefined): Settings {
  const file = named ?? defaultConfigFile();
  const content = readJsonFile(file);
  if (content !== undefined) return settingsOf(content, file);
  if (named === undefined) return {};
  throw new ApiCommandError(`Cannot read ${file}: ENOENT`);
}

function address(name: SettingName, value: string): string {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) {
    throw new ApiCommandError(`${name} must be an http(s) address`);
  }
  return value.replace(/\/+$/, '');
}

/** One place that settings come from. */
interface Source {
  settings: Settings;
  /** The credentials are for the address that stands beside them, and are sent nowhere else. */
  bound: boolean;
}

const fromEnvironment = (environment: Environment): Settings => ({
  api_url: environment['CARILLON_API_URL'],
  integrations_url: environment['CARILLON_INTEGRATIONS_URL'],
  access_token: environment['CARILLON_ACCESS_TOKEN'],
  client_id: environment['CARILLON_CLIENT_ID'],
  client_secret: environment['CARILLON_CLIENT_SECRET'],
});

/** Sources, those that win first. A profile that is named with a flag wins over the environment. */
function sourcesOf(flags: Values, environment: Environment): Source[] {
  const byFlag = flags['profile'] as string | undefined;
  const name = byFlag ?? (environment['CARILLON_PROFILE'] || undefined);
  const profiles = readProfiles(environment);
  if (name !== undefined && !profiles[name]) throw unknownProfile(name, Object.keys(profiles));
  const profile = { settings: profiles[name ?? DEFAULT_PROFILE] ?? {}, bound: true };
  const variables = { settings: fromEnvironment(environment), bound: false };
  const file =
    (flags['config_file'] as string | undefined) ??
    (environment['CARILLON_CONFIG_FILE'] || undefined);
  return [
    { settings: flags as Settings, bound: false },
    ...(byFlag === undefined ? [variables, profile] : [profile, variables]),
    { settings: readConfigFile(file), bound: false },
  ];
}

/**
 * Settings from flags, else the profile of `--profile`, else the environment (`CARILLON_` and the
 * name in capitals), else the profile of CARILLON_PROFILE or the default one, else the config file.
 * @throws {ApiCommandError} also if a profile's credentials would be sent to an address that the
 *   profile does not have
 */
export function readSettings(flags: Values, environment: Environment): ApiSettings {
  const sources = sourcesOf(flags, environment);
  const find = (name: SettingName) => sources.find(({ settings }) => settings[name]);
  const value = (name: SettingName) => find(name)?.settings[name];
  const apiUrl = address('api_url', value('api_url') ?? DEFAULT_API_URL);
  const integrationsUrl = address('integrations_url', value('integrations_url') ?? apiUrl);
  for (const name of ['access_token', 'client_secret'] as const) {
    const source = find(name);
    if (!source?.bound) continue;
    const own = source.settings.api_url ?? DEFAULT_API_URL;
    const allowed = [own, source.settings.integrations_url ?? own];
    for (const url of [apiUrl, integrationsUrl])
      if (!allowed.includes(url))
        throw new ApiCommandError(
          `The ${name} of the profile is for ${own} and is not sent to ${url}. Give another --${name}, or leave out the address.`,
          'refused',
        );
  }
  return {
    apiUrl,
    integrationsUrl,
    accessToken: value('access_token'),
    clientId: value('client_id'),
    clientSecret: value('client_secret'),
  };
}
