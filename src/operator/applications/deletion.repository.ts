import type { Sql } from '../../platform/database/sql.ts';
import type { ApplicationDeletion } from './application-deletion.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** What a deletion does one after the other. */
export const DELETION_STEPS = [
  'accounts',
  'webhooks',
  'address checks',
  'sandbox',
  'application',
] as const;
export type DeletionStep = (typeof DELETION_STEPS)[number];

/** A deletion that this process has leased. */
export interface LeasedDeletion extends RowOf<
  ApplicationDeletion,
  'applicationId' | 'clientId' | 'name' | 'leaving'
> {
  step: DeletionStep;
}

/** A process that deletes renews its lease with every batch. */
const LEASE = `interval '2 minutes'`;

const BEGIN = `
  insert into application_deletion
    (application_id, client_id, name, requested_at, requested_by, accounts, step, leaving)
  select $1, $2, $3, $4, $5, (select count(*) from "grant" where application_id = $1), $6, '{}'
  on conflict (application_id) do nothing returning 1`;

/** @returns false if the deletion has begun before */
export async function beginDeletion(
  sql: Sql,
  { id, clientId, name }: { id: string; clientId: string; name: string },
  { at, by }: { at: Date; by: string },
): Promise<boolean> {
  const rows = await sql.query(BEGIN, [id, clientId, name, at, by, DELETION_STEPS[0]]);
  return rows.length > 0;
}

/** Whether the deletion of an application has begun. Lock the application first. */
export async function isBeingDeleted(sql: Sql, applicationId: string): Promise<boolean> {
  const text = 'select from application_deletion where application_id = $1';
  return (await sql.query(text, [applicationId])).length > 0;
}

const TAKE = `
  update application_deletion set lease_until = now() + ${LEASE}
  where application_id = (
    select application_id from application_deletion
    where finished_at is null and (lease_until is null or lease_until < now())
    order by requested_at limit 1 for update skip locked)
  returning application_id as "applicationId", client_id as "clientId", name, step, leaving`;

/** Leases a deletion that no live process works on; `undefined` if there is none. */
export async function leaseDeletion(sql: Sql): Promise<LeasedDeletion | undefined> {
  return (await sql.query<LeasedDeletion>(TAKE))[0];
}

const RELEASE = `
  update application_deletion set lease_until = now() + make_interval(secs => $2), last_error = $3
  where application_id = $1 and finished_at is null`;

/**
 * Ends the lease.
 * @param waitSeconds how long the deletion rests
 * @param error why the last batch failed; `null` if it did not
 */
export async function releaseDeletion(
  sql: Sql,
  applicationId: string,
  waitSeconds: number,
  error: string | null,
): Promise<void> {
  await sql.query(RELEASE, [applicationId, waitSeconds, error]);
}

const CHOOSE = `
  update application_deletion d set lease_until = now() + ${LEASE}, leaving = array(
    select g.id from "grant" g where g.application_id = d.application_id order by g.id limit $2)
  where application_id = $1 returning leaving`;

/** Notes which accounts are deleted next. @returns their ids */
export async function chooseAccounts(
  sql: Sql,
  applicationId: string,
  most: number,
): Promise<string[]> {
  const [row] = await sql.query<RowOf<ApplicationDeletion, 'leaving'>>(CHOOSE, [
    applicationId,
    most,
  ]);
  return row?.leaving ?? [];
}

const COUNT = `
  update application_deletion
  set lease_until = now() + ${LEASE}, leaving = '{}', last_error = null,
    accounts = greatest(accounts, accounts_deleted + $2), accounts_deleted = accounts_deleted + $2
  where application_id = $1`;

/** Notes that these accounts are gone. */
export async function countDeleted(
  sql: Sql,
  applicationId: string,
  accounts: number,
): Promise<void> {
  await sql.query(COUNT, [applicationId, accounts]);
}

const STEP = `
  update application_deletion set lease_until = now() + ${LEASE}, step = $2, last_error = null
  where application_id = $1`;

export async function enterStep(
  sql: Sql,
  applicationId: string,
  step: DeletionStep,
): Promise<void> {
  await sql.query(STEP, [applicationId, step]);
}

const FINISH = `
  update application_deletion set step = 'done', finished_at = $2, lease_until = null, last_error = null
  where application_id = $1`;

export async function finishDeletion(sql: Sql, applicationId: string, at: Date): Promise<void> {
  await sql.query(FINISH, [applicationId, at]);
}
