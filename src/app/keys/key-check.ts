import { keyIdOf, type SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';

/** What is wrong with ENCRYPTION_KEYS, for the database at hand. */
export interface KeyProblems {
  /** Ids of keys that secrets are sealed with and the ring lacks. */
  missing: string[];
  /** Ids of keys that have other bytes than those the secrets were sealed with. */
  wrong: string[];
}

/** A process or a command has the wrong keys; the message says which. */
export class WrongKeysError extends Error {
  override name = 'WrongKeysError';
}

/** Rows looked at on either end of a table. Ids are in the order of time, so both ends show keys of different times. */
const SAMPLE = 200;
const CHECK_TEXT = 'carillon';
const checkContext = (id: string): string => `sealing_key.check:${id}`;

const sampleOf = (
  { table, column, key = 'id' }: SealedColumn,
  index: number,
  direction: 'asc' | 'desc',
) => `
  (select distinct on (split_part(sealed, '.', 2)) ${index} as place, id::text as id, sealed
   from (select "${key}" as id, "${column}" as sealed from "${table}" order by "${key}" ${direction} limit ${SAMPLE}) s
   where sealed is not null)`;

/** One value of each column and key among the first and the last rows: bounded, whatever the tables hold. */
const SAMPLES = SEALED_COLUMNS.flatMap((column, index) => [
  sampleOf(column, index, 'asc'),
  sampleOf(column, index, 'desc'),
]).join(' union all ');

const KNOWN = `
  select id, check_value as "checkValue", forgotten_at is not null as forgotten from sealing_key`;

const ADOPT = `
  insert into sealing_key (id, check_value, created_at) values ($1, $2, now()) on conflict (id) do nothing`;

function opens(box: SecretBox, sealed: string, context: string): boolean {
  try {
    box.open(sealed, context);
    return true;
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    return false;
  }
}

/**
 * Finds out whether the key ring opens what is sealed in this database: every check value, and one value of each column and
 * key among the oldest and newest rows. Reads a bounded number of rows and changes nothing.
 */
export async function examineKeys(sql: Sql, box: SecretBox): Promise<KeyProblems> {
  const known = await sql.query<{ id: string; checkValue: string; forgotten: boolean }>(KNOWN);
  const samples = await sql.query<{ place: number; id: string; sealed: string }>(SAMPLES);
  /** Whether anything that is sealed with the key opens. */
  const found = new Map<string, boolean>();
  const note = (keyId: string | undefined, open: () => boolean) => {
    if (keyId !== undefined && !found.get(keyId)) found.set(keyId, open());
  };
  // A row that was changed opens with no key. So a sample counts against a key only if nothing else opens with it.
  for (const { place, id, sealed } of samples) {
    note(keyIdOf(sealed), () => opens(box, sealed, SEALED_COLUMNS[place]?.context(id) ?? ''));
  }
  for (const { id, checkValue, forgotten } of known) {
    if (forgotten) found.delete(id);
    else found.set(id, opens(box, checkValue, checkContext(id)));
  }
  const failed = [...found].filter(([, open]) => !open).map(([id]) => id);
  const ring = box.fingerprints;
  return {
    missing: failed.filter((id) => !(id in ring)).sort(),
    wrong: failed.filter((id) => id in ring).sort(),
  };
}

/** The problems in words, with the ids of the keys; null: there are none. */
export function describeProblems({ missing, wrong }: KeyProblems): string | null {
  const parts = [
    missing.length > 0 &&
      `ENCRYPTION_KEYS lacks ${list(missing)}, which secrets in this database are sealed with`,
    wrong.length > 0 &&
      `ENCRYPTION_KEYS has other bytes under ${list(wrong)} than those the secrets were sealed with`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? null : parts.join('; ');
}

const list = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(', ');

/**
 * Examines the keys and, if they are right, makes sure that the newest one is remembered before it seals anything.
 * @returns the problems; with problems nothing is remembered
 */
export async function adoptKeys(sql: Sql, box: SecretBox): Promise<KeyProblems> {
  const before = await examineKeys(sql, box);
  if (describeProblems(before) !== null) return before;
  const id = box.currentKeyId;
  await sql.query(ADOPT, [id, box.seal(CHECK_TEXT, checkContext(id))]);
  // Another process may have brought its own keys to a new database at the same moment.
  return examineKeys(sql, box);
}

/** @throws {WrongKeysError} when the ring does not open what is sealed in this database */
export async function requireRightKeys(sql: Sql, box: SecretBox): Promise<void> {
  refuse(await adoptKeys(sql, box));
}

/** @throws {WrongKeysError} unless there are no problems */
function refuse(problems: KeyProblems): void {
  const problem = describeProblems(problems);
  if (problem !== null)
    throw new WrongKeysError(`${problem}. Nothing was changed. Correct ENCRYPTION_KEYS.`);
}

const SEALED_BY_NOBODY = `
  not exists (
    select 1 from running_process p where p.sealing_key = k.id and p.seen_at > now() - interval '1 minute')`;

const REMEMBER = `${ADOPT} returning id`;

/**
 * Remembers the newest key before anything is sealed with it: a process that starts from now on without it is not ready.
 * @returns whether it was new
 * @throws {WrongKeysError} when secrets are sealed with other bytes under its id
 */
export async function rememberNewestKey(sql: Sql, box: SecretBox): Promise<boolean> {
  const id = box.currentKeyId;
  const { wrong } = await examineKeys(sql, box);
  if (wrong.includes(id)) refuse({ missing: [], wrong: [id] });
  return (await sql.query(REMEMBER, [id, box.seal(CHECK_TEXT, checkContext(id))])).length > 0;
}

/** Takes `rememberNewestKey` back, unless a running process seals with the key by now. */
export async function forgetNewestKey(sql: Sql, box: SecretBox): Promise<void> {
  await sql.query(`delete from sealing_key k where k.id = $1 and ${SEALED_BY_NOBODY}`, [
    box.currentKeyId,
  ]);
}

const FORGET_UNUSED = `
  delete from sealing_key k where k.id <> $1 and ${SEALED_BY_NOBODY}`;

/** After a complete reseal: only the newest key is in use, and those that running processes still seal with. */
export async function forgetUnusedKeys(sql: Sql, box: SecretBox): Promise<void> {
  await sql.query(FORGET_UNUSED, [box.currentKeyId]);
}

const GIVE_UP = `
  insert into sealing_key (id, check_value, created_at, forgotten_at) values ($1, '', now(), now())
  on conflict (id) do update set forgotten_at = excluded.forgotten_at`;

/**
 * Gives up whatever is sealed with a key that is lost: processes start without it.
 * @throws {WrongKeysError} when the ring has the key, or nothing is missing it
 */
export async function giveUpKey(sql: Sql, box: SecretBox, id: string): Promise<void> {
  const { missing } = await examineKeys(sql, box);
  if (!missing.includes(id)) {
    const others = missing.length > 0 ? `Missing are: ${list(missing)}.` : 'No key is missing.';
    throw new WrongKeysError(`The key "${id}" is not missing. ${others} Nothing was changed.`);
  }
  await sql.query(GIVE_UP, [id]);
}
