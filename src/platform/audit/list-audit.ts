import { Conditions } from '../database/conditions.ts';
import {
  type PageOf,
  pageOf,
  pageToken,
  readPageToken,
  itemsOf,
  type TokenPage,
} from '../database/page-token.ts';
import type { Sql } from '../database/sql.ts';
import type { Actor, ActorKind } from './actor.ts';
import type { AuditEntry } from './audit-entry.entity.ts';
import type { RowOf } from '../database/rows/row-of.ts';

/** An entry of the audit log. */
export interface AuditItem {
  id: string;
  at: Date;
  actor: Actor;
  action: string;
  target: { type: string; id: string };
  applicationId: string | null;
  accountId: string | null;
  details: Readonly<Record<string, unknown>>;
}

/** Which entries to list. Absent fields match every entry. */
export interface AuditFilter {
  /** An action such as `account.pause`, or all of a subject: `account.`. */
  action?: string | undefined;
  /** Id of the target. */
  target?: string | undefined;
  /** Id or name of the actor. */
  actor?: string | undefined;
  actorKind?: ActorKind | undefined;
  applicationId?: string | undefined;
  accountId?: string | undefined;
  /** The first instant of the period. */
  since?: Date | undefined;
  /** The end of the period, which is not part of it. */
  until?: Date | undefined;
}

const COLUMNS = `e.id, e.at, e.actor_kind as "actorKind", e.actor_id as "actorId", e.actor_name as "actorName",
  e.actor_address as "actorAddress", e.action, e.target_type as "targetType", e.target_id as "targetId",
  e.application_id as "applicationId", e.account_id as "accountId", e.details`;

interface Row
  extends
    Pick<AuditItem, 'id' | 'at' | 'action' | 'applicationId' | 'accountId' | 'details'>,
    RowOf<
      AuditEntry,
      'actorKind' | 'actorId' | 'actorName' | 'actorAddress' | 'targetType' | 'targetId'
    > {}

/**
 * Entries of the audit log, newest first.
 * @throws {InvalidInputError} if the page token belongs to another list
 */
export async function listAudit(
  sql: Sql,
  filter: AuditFilter,
  page: TokenPage,
): Promise<PageOf<AuditItem>> {
  const where = conditionsOf(filter);
  const [after] = readPageToken(page.pageToken, ['id']) ?? [];
  if (after !== undefined) where.add(`e.id < ${where.value(after)}::uuid`);
  const items = itemsOf(page);
  const rows = await read(sql, where, `limit ${where.value(items + 1)}`);
  return pageOf(rows, items, ({ id }) => pageToken(id));
}

/** Counts the entries of a list. @param most counts no further */
export async function countAudit(sql: Sql, filter: AuditFilter, most: number): Promise<number> {
  const where = conditionsOf(filter);
  // In the order of the list, so that it is read by the same index.
  const text = `select count(*)::int as n from (
    select from audit_entry e where ${where.text} order by e.id desc limit ${where.value(most)}) c`;
  const [row] = await sql.query<{ n: number }>(text, where.values, { prepared: false });
  return row?.n ?? 0;
}

/** The entries of one application, newest first. */
export function auditOfApplication(
  sql: Sql,
  applicationId: string,
  filter: Pick<AuditFilter, 'action' | 'accountId' | 'since' | 'until'>,
  { limit, offset }: { limit: number; offset: number },
): Promise<AuditItem[]> {
  const where = conditionsOf({ ...filter, applicationId });
  return read(sql, where, `limit ${where.value(limit)} offset ${where.value(offset)}`);
}

function conditionsOf(filter: AuditFilter): Conditions {
  const where = new Conditions();
  const { action, actor } = filter;
  const equal = (column: string, value: unknown) =>
    value === undefined || where.add(`e.${column} = ${where.value(value)}`);
  equal('application_id', filter.applicationId);
  equal('account_id', filter.accountId);
  equal('target_id', filter.target);
  equal('actor_kind', filter.actorKind);
  if (actor !== undefined) {
    const value = where.value(actor);
    where.add(`e.actor_id = ${value} or e.actor_name = ${value}`);
  }
  if (action?.endsWith('.')) where.add(`starts_with(e.action, ${where.value(action)})`);
  else equal('action', action);
  if (filter.since) where.add(`e.at >= ${where.value(filter.since)}`);
  if (filter.until) where.add(`e.at < ${where.value(filter.until)}`);
  return where;
}

async function read(sql: Sql, where: Conditions, paging: string): Promise<AuditItem[]> {
  const rows = await sql.query<Row>(
    `select ${COLUMNS} from audit_entry e where ${where.text} order by e.id desc ${paging}`,
    where.values,
    { prepared: false },
  );
  return rows.map(
    ({ actorKind, actorId, actorName, actorAddress, targetType, targetId, ...row }) => ({
      ...row,
      actor: { kind: actorKind, id: actorId, name: actorName, address: actorAddress },
      target: { type: targetType, id: targetId },
    }),
  );
}
