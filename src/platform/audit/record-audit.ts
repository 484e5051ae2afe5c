import { storable } from '../base/text/storable.ts';
import { newId } from '../base/ids/ids.ts';
import type { Sql } from '../database/sql.ts';
import type { Actor } from './actor.ts';
import { currentActor } from './current-actor.ts';

/** One action, as the audit log records it. */
export interface AuditRecord {
  /** Default: `currentActor()`. */
  actor?: Actor;
  /** Dotted name, such as `job.retry`, `account.pause` or `token.revoke`. */
  action: string;
  /** What the action changed. The id is what operators search for: an id, a name, a client id. */
  target: { type: string; id: string };
  /** The application that may read the entry. Absent or `null`: only operators may. */
  applicationId?: string | null;
  accountId?: string | null;
  /**
   * What changed, small: names of fields, counts, new values. Never secrets, tokens or content of
   * mail.
   */
  details?: Readonly<Record<string, unknown>>;
}

const LONGEST_TEXT = 500;

const INSERT = `
  insert into audit_entry
    (id, actor_kind, actor_id, actor_name, actor_address, action, target_type, target_id,
     application_id, account_id, details)
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::uuid[], $10::uuid[], $11::jsonb[])`;

/**
 * Appends an entry to the audit log, in the caller's transaction: an action and its entry are
 * committed together or not at all.
 */
export function recordAudit(sql: Sql, record: AuditRecord): Promise<void> {
  return recordAudits(sql, [record]);
}

/** Appends the entries of a batch with one statement, in the given order, like `recordAudit`. */
export async function recordAudits(sql: Sql, records: readonly AuditRecord[]): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map(columnsOf);
  // `unnest` takes one array for each column.
  const columns = rows[0]?.map((_, column) => rows.map((row) => row[column]));
  await sql.query(INSERT, columns);
}

/** The values of a new row, in the order of `INSERT`. */
function columnsOf(record: AuditRecord): unknown[] {
  const { actor = currentActor(), action, target, applicationId, accountId, details } = record;
  return [
    newId(),
    actor.kind,
    actor.id,
    storable(actor.name, LONGEST_TEXT),
    actor.address,
    action,
    target.type,
    storable(target.id, LONGEST_TEXT),
    applicationId ?? null,
    accountId ?? null,
    JSON.stringify(details ?? {}),
  ];
}

/** The names of the fields that a change has, for the details of an entry. Never their values. */
export function changedFields(change: object): string[] {
  return Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name)
    .toSorted();
}
