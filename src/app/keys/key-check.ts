import { keyIdOf, type SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';
import type { SealingKey } from './sealing-key.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Problems of ENCRYPTION_KEYS for this database. */
export interface KeyProblems {
  /** Ids of keys that are missing in the key ring although secrets are encrypted with them. */
  missing: string[];
  /**
   * Ids of keys whose bytes are wrong: secrets were encrypted with other bytes under the same id.
   */
  wrong: string[];
}

/** A process or a command has wrong keys. The message names them. */
export class WrongKeysError extends OperatorError {
  constructor(message: string) {
    super('refused', message);
  }
}

/**
 * Rows read at each end of a table. Ids are ordered by time, so the two ends show the keys of
 * different times.
 */
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

/**
 * One value per column and key among the first and last rows. The number of rows read is limited
 * for any table size.
 */
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
 * Checks whether the key ring decrypts the secrets of this database: every check value, and one
 * value per column and key among the oldest and newest rows. It reads a limited number of rows and
 * changes nothing.
 */
export async function examineKeys(sql: Sql, box: SecretBox): Promise<KeyProblems> {
  const known = await sql.query<RowOf<SealingKey, 'id' | 'checkValue'> & { forgotten: boolean }>(
    KNOWN,
  );
  const samples = await sql.query<{ place: number; id: string; sealed: string }>(SAMPLES);
  /** By key id: whether at least one value encrypted with the key can be decrypted. */
  const found = new Map<string, boolean>();
  const note = (keyId: string | undefined, open: () => boolean) => {
    if (keyId !== undefined && !found.get(keyId)) found.set(keyId, open());
  };
  // A damaged row decrypts with no key. So a value counts against its key only if no other value
  // decrypts with this key.
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

/** Describes the problems, with the ids of the keys; `null` if there are none. */
export function describeProblems({ missing, wrong }: KeyProblems): string | null {
  const parts = [
    missing.length > 0 &&
      `ENCRYPTION_KEYS lacks ${list(missing)}; secrets in this database are encrypted with it`,
    wrong.length > 0 &&
      `ENCRYPTION_KEYS has different bytes under ${list(wrong)} than those that encrypted the secrets`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? null : parts.join('; ');
}

const list = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(', ');

/**
 * Checks the keys. If they are right, records the newest key before it encrypts anything.
 * @returns the problems; if there are any, nothing is recorded
 */
export async function adoptKeys(sql: Sql, box: SecretBox): Promise<KeyProblems> {
  const before = await examineKeys(sql, box);
  if (describeProblems(before) !== null) return before;
  const id = box.currentKeyId;
  await sql.query(ADOPT, [id, box.seal(CHECK_TEXT, checkContext(id))]);
  // Another process may have recorded different keys in a new database at the same time.
  return examineKeys(sql, box);
}

/** @throws {WrongKeysError} if the key ring does not decrypt the secrets of this database */
export async function requireRightKeys(sql: Sql, box: SecretBox): Promise<void> {
  refuse(await adoptKeys(sql, box));
}

/** @throws {WrongKeysError} if there are problems */
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
 * Records the newest key before anything is encrypted with it. A process that starts later without
 * this key is not ready.
 * @returns whether the key was new
 * @throws {WrongKeysError} if secrets are encrypted with different bytes under the same id
 */
export async function rememberNewestKey(sql: Sql, box: SecretBox): Promise<boolean> {
  const id = box.currentKeyId;
  const { wrong } = await examineKeys(sql, box);
  if (wrong.includes(id)) refuse({ missing: [], wrong: [id] });
  return (await sql.query(REMEMBER, [id, box.seal(CHECK_TEXT, checkContext(id))])).length > 0;
}

/** Undoes `rememberNewestKey`, unless a running process already encrypts with the key. */
export async function forgetNewestKey(sql: Sql, box: SecretBox): Promise<void> {
  await sql.query(`delete from sealing_key k where k.id = $1 and ${SEALED_BY_NOBODY}`, [
    box.currentKeyId,
  ]);
}

const FORGET_UNUSED = `
  delete from sealing_key k where k.id <> $1 and ${SEALED_BY_NOBODY}`;

/**
 * Deletes the records of unused keys after a complete reseal. The newest key stays, and so do keys
 * that running processes still encrypt with.
 */
export async function forgetUnusedKeys(sql: Sql, box: SecretBox): Promise<void> {
  await sql.query(FORGET_UNUSED, [box.currentKeyId]);
}

const GIVE_UP = `
  insert into sealing_key (id, check_value, created_at, forgotten_at) values ($1, '', now(), now())
  on conflict (id) do update set forgotten_at = excluded.forgotten_at`;

/**
 * Gives up all values that are encrypted with a lost key, so that processes start without it.
 * @throws {WrongKeysError} if the key ring has the key, or no value needs it
 */
export async function giveUpKey(sql: Sql, box: SecretBox, id: string): Promise<void> {
  const { missing } = await examineKeys(sql, box);
  if (!missing.includes(id)) {
    const others = missing.length > 0 ? `Missing are: ${list(missing)}.` : 'No key is missing.';
    throw new WrongKeysError(`The key "${id}" is not missing. ${others} Nothing was changed.`);
  }
  await sql.query(GIVE_UP, [id]);
}
