import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ApiCommandError } from './api-error.ts';

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

const NAMES = [
  'api_url',
  'integrations_url',
  'access_token',
  'client_id',
  'client_secret',
] as const;
type Name = (typeof NAMES)[number];
type Values = Partial<Record<Name, string>>;

/** The default file with settings. `--config_file` or CARILLON_CONFIG_FILE name another one. */
export function defaultConfigFile(): string {
  return path.join(os.homedir(), '.carillon', 'config.json');
}

function readConfigFile(file: string, wanted: boolean): Values {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (!wanted && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new ApiCommandError(`Cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new ApiCommandError(`${file} is not valid JSON`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ApiCommandError(`${file} must contain an object with ${NAMES.join(', ')}`);
  }
  const values: Values = {};
  for (const name of NAMES) {
    const value = (content as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (typeof value !== 'string') throw new ApiCommandError(`${file}: ${name} must be a string`);
    values[name] = value;
  }
  return values;
}

function address(name: Name, value: string): string {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) {
    throw new ApiCommandError(`${name} must be an http(s) address`);
  }
  return value.replace(/\/+$/, '');
}

/**
 * Settings from flags, else the environment (`CARILLON_` and the name in capitals), else the config
 * file.
 * @throws {ApiCommandError}
 */
export function readSettings(
  flags: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): ApiSettings {
  const named = (flags['config_file'] as string | undefined) ?? environment['CARILLON_CONFIG_FILE'];
  const file = readConfigFile(named ?? defaultConfigFile(), named !== undefined);
  const value = (name: Name): string | undefined =>
    (flags[name] as string | undefined) ||
    environment[`CARILLON_${name.toUpperCase()}`] ||
    file[name];
  const apiUrl = address('api_url', value('api_url') ?? 'http://localhost:3000');
  return {
    apiUrl,
    integrationsUrl: address('integrations_url', value('integrations_url') ?? apiUrl),
    accessToken: value('access_token'),
    clientId: value('client_id'),
    clientSecret: value('client_secret'),
  };
}
