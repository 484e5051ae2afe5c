import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ApiCommandError } from './error.ts';

/** Names of the settings that a file may contain. */
export const SETTING_NAMES = [
  'api_url',
  'integrations_url',
  'access_token',
  'client_id',
  'client_secret',
] as const;
export type SettingName = (typeof SETTING_NAMES)[number];
export type Settings = Partial<Record<SettingName, string>>;

type Environment = Readonly<Record<string, string | undefined>>;

/** The profile that is used if none is named. */
export const DEFAULT_PROFILE = 'default';
/** `connect` names profiles like addresses. */
const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,253}$/;

/** @throws {ApiCommandError} if it cannot be the name of a profile */
export function profileName(value: string): string {
  if (PROFILE_NAME.test(value)) return value;
  throw new ApiCommandError(
    'A profile has a name of 1 to 254 letters, digits and . _ - + @, and begins with a letter or digit.',
  );
}

/** The file with profiles: `carillon/profiles.json` below XDG_CONFIG_HOME or `~/.config`. */
export function profilesFile(environment: Environment): string {
  const given = environment['XDG_CONFIG_HOME'];
  // The specification ignores relative paths.
  const base = given && path.isAbsolute(given) ? given : path.join(os.homedir(), '.config');
  return path.join(base, 'carillon', 'profiles.json');
}

/**
 * Checks the settings of a file.
 * @param where the file, and the profile in it, for errors
 * @throws {ApiCommandError}
 */
export function settingsOf(content: unknown, where: string): Settings {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new ApiCommandError(`${where} must contain an object with ${SETTING_NAMES.join(', ')}`);
  const values: Settings = {};
  for (const name of SETTING_NAMES) {
    const value = (content as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (typeof value !== 'string') throw new ApiCommandError(`${where}: ${name} must be a string`);
    values[name] = value;
  }
  return values;
}

/**
 * Reads a JSON file.
 * @returns `undefined` if there is no such file
 * @throws {ApiCommandError} if it cannot be read
 */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new ApiCommandError(`Cannot read ${file}: ${code}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiCommandError(`${file} is not valid JSON`);
  }
}

/** All profiles by name. */
export function readProfiles(environment: Environment): Record<string, Settings> {
  const file = profilesFile(environment);
  const content = readJsonFile(file) ?? {};
  if (typeof content !== 'object' || Array.isArray(content))
    throw new ApiCommandError(`${file} must contain an object with profiles`);
  return Object.fromEntries(
    Object.entries(content as object).map(([name, settings]) => [
      name,
      settingsOf(settings, `${file}, profile ${name}`),
    ]),
  );
}

/** Replaces the file; only its owner can read it. */
function writeProfiles(environment: Environment, profiles: Record<string, Settings>): void {
  const file = profilesFile(environment);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  fs.writeFileSync(next, `${JSON.stringify(profiles, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
  fs.renameSync(next, file);
}

export function saveProfile(environment: Environment, name: string, settings: Settings): void {
  writeProfiles(environment, { ...readProfiles(environment), [name]: settings });
}

/** @throws {ApiCommandError} if there is no such profile */
export function removeProfile(environment: Environment, name: string): void {
  const { [name]: removed, ...others } = readProfiles(environment);
  if (!removed) throw unknownProfile(name, Object.keys(others));
  writeProfiles(environment, others);
}

/** The error for a profile that does not exist. */
export function unknownProfile(name: string, known: readonly string[]): ApiCommandError {
  const list = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`;
  return new ApiCommandError(
    `There is no profile ${name.slice(0, 64)}; ${list}. Create it: carillon-api login --profile ${name.slice(0, 64)}`,
    'not-found',
  );
}
