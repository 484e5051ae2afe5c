import { type SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { forgetNewestKey, forgetUnusedKeys, rememberNewestKey } from './key-check.ts';
import { requireKeyEverywhere } from './running-processes.ts';
import { SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';

/** The result of a reseal. */
export interface ResealReport {
  /** Number of values that were encrypted again with the newest key. */
  resealed: number;
  /** Values that were not changed, because no key of the key ring decrypts them. */
  unopened: { table: string; id: string }[];
}

const DEFAULT_BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Makes sure that every process, running or started later, can decrypt values of the newest key.
 * The key is recorded before running processes are checked. A process registers before it checks
 * its keys. So each process is either found here or finds that it lacks the key.
 * @param force skips the check of running processes
 * @throws {WrongKeysError} if a running process lacks the key; nothing is changed
 */
export async function prepareReseal(sql: Sql, box: SecretBox, force = false): Promise<void> {
  const isNew = await rememberNewestKey(sql, box);
  if (force) return;
  try {
    await requireKeyEverywhere(sql, box);
  } catch (error) {
    if (isNew) await forgetNewestKey(sql, box);
    throw error;
  }
}

/**
 * Encrypts all values with the newest key of the key ring, batch by batch, while Carillon runs. A
 * value that another process changes in the meantime is left alone. Every running process must
 * already have the newest key, so call `prepareReseal` first.
 * @param batch rows per statement
 * @param onBatch called after each batch, with the table and the values encrypted so far
 */
export async function reseal(
  sql: Sql,
  box: SecretBox,
  batch = DEFAULT_BATCH,
  onBatch: (table: string, resealed: number) => void = () => undefined,
): Promise<ResealReport> {
  const report: ResealReport = { resealed: 0, unopened: [] };
  for (const column of SEALED_COLUMNS) await resealColumn(sql, box, column, batch, report, onBatch);
  if (report.unopened.length === 0) await forgetUnusedKeys(sql, box);
  return report;
}

async function resealColumn(
  sql: Sql,
  box: SecretBox,
  { table, column, key = 'id', context }: SealedColumn,
  batch: number,
  report: ResealReport,
  onBatch: (table: string, resealed: number) => void,
): Promise<void> {
  const current = `v1.${box.currentKeyId}.`;
  for (let last = FIRST_ID; ;) {
    const rows = await sql.query<{ id: string; sealed: string }>(
      `select "${key}" as id, "${column}" as sealed from "${table}"
       where "${key}" > $1 and not starts_with("${column}", $2) order by "${key}" limit $3`,
      [last, current, batch],
    );
    const renewed: { id: string; was: string; sealed: string }[] = [];
    for (const { id, sealed } of rows) {
      try {
        renewed.push({
          id,
          was: sealed,
          sealed: box.seal(box.open(sealed, context(id)), context(id)),
        });
      } catch (error) {
        if (!(error instanceof UnsealError)) throw error;
        report.unopened.push({ table, id });
      }
    }
    const written = await sql.query(
      `update "${table}" t set "${column}" = n.sealed
       from unnest($1::uuid[], $2::text[], $3::text[]) n(id, was, sealed)
       where t."${key}" = n.id and t."${column}" = n.was returning 1`,
      [
        renewed.map(({ id }) => id),
        renewed.map(({ was }) => was),
        renewed.map(({ sealed }) => sealed),
      ],
    );
    report.resealed += written.length;
    onBatch(table, report.resealed);
    const end = rows.at(-1);
    if (!end || rows.length < batch) return;
    last = end.id;
  }
}
