import fs from 'node:fs';
import path from 'node:path';
import type { AppConfig } from '../../config/app-config.ts';
import { addressOfUrl } from '../../database/database-hosts.ts';
import { cannotShow } from '../../database/health/timelines.ts';
import type { Sql } from '../../database/sql.ts';
import type { Instance } from './instance.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/*
 * The identity of the database that an installation uses, and which installation may work on it
 * (docs/adr/0022).
 *
 * A restored backup lists messages that have been sent since, and a copy lists messages that the
 * original is about to send. So the database records its identity. A worker that finds another
 * identity leaves the database alone until the operator confirms it.
 */

/** The identity of a database. Its parts are compared one by one. */
export interface DatabaseIdentity {
  /**
   * System identifier that `initdb` gave the server. Copies of the server's files share it. Absent
   * if we are not allowed to read it.
   */
  server?: string;
  /**
   * Oid and name of the database. Every other database has another oid, even on the same server.
   */
  database: string;
  /**
   * Host, port and database name from DATABASE_URL, or the folder of the embedded database. Never
   * includes a user or a password.
   */
  address: string;
  /** Name of the installation, `INSTANCE_NAME`. */
  name: string;
  /**
   * Why a running worker concluded that the database was restored to an older state. Only set in
   * the recorded identity.
   */
  doubt?: string;
}

/** The identity that the database has recorded. */
export interface RecordedIdentity extends RowOf<Instance, 'confirmedAt' | 'timeline'> {
  place: DatabaseIdentity;
  /** The identity of a running worker that refuses the database; `null` if none does. */
  refused: DatabaseIdentity | null;
}

const PARTS = [
  'server',
  'database',
  'address',
  'name',
  'doubt',
] as const satisfies readonly (keyof DatabaseIdentity)[];

/** A part in which two identities differ. */
export interface IdentityDifference {
  part: keyof DatabaseIdentity;
  recorded: string | undefined;
  here: string | undefined;
}

/** Returns the parts in which two identities differ; empty if the identities are the same. */
export function identityDifferences(
  recorded: DatabaseIdentity,
  here: DatabaseIdentity,
): IdentityDifference[] {
  return PARTS.filter((part) => recorded[part] !== here[part]).map((part) => ({
    part,
    recorded: recorded[part],
    here: here[part],
  }));
}

/** Describes every difference for operators, with both values. */
export function describeDifferences(differences: readonly IdentityDifference[]): string {
  return differences
    .map(({ part, recorded, here }) =>
      part === 'doubt'
        ? (recorded ?? '')
        : `${part} was ${recorded ?? 'unknown'}, is ${here ?? 'unknown'}`,
    )
    .join('; ');
}

/**
 * Returns the address of the configured database, without user and password. A folder is named with
 * its inode number, because a copy at the same path has another inode.
 */
export function databaseAddress({
  database,
  dataDir,
}: Pick<AppConfig, 'database' | 'dataDir'>): string {
  if (database.embedded) {
    const folder = fs.realpathSync(path.join(dataDir, 'postgres'));
    return `${folder} (inode ${fs.statSync(folder).ino})`;
  }
  return addressOfUrl(database.url);
}

const DATABASE = `
  select oid || ' ' || datname as database from pg_database where datname = current_database()`;
const SERVER = 'select system_identifier::text as server from pg_control_system()';

async function serverOf(sql: Sql): Promise<{ server?: string }> {
  try {
    const [row] = await sql.query<{ server: string }>(SERVER);
    return row ? { server: row.server } : {};
  } catch (error) {
    if (cannotShow(error)) return {};
    throw error;
  }
}

/**
 * Returns the current identity of the configured database. Do not call it inside a transaction: if
 * the server refuses to report its identifier, the error would abort the transaction.
 */
export async function currentIdentity(
  sql: Sql,
  config: Pick<AppConfig, 'database' | 'dataDir' | 'instanceName'>,
): Promise<DatabaseIdentity> {
  const [row] = await sql.query<{ database: string }>(DATABASE);
  return {
    ...(await serverOf(sql)),
    database: row?.database ?? '',
    address: databaseAddress(config),
    name: config.instanceName,
  };
}

const READ = `
  select place, confirmed_at as "confirmedAt", timeline,
    case when refused_at > now() - interval '30 seconds' then refused_place end as refused
  from instance where id = 1`;

/**
 * Returns the recorded identity.
 * @returns undefined if no worker has ever used the database
 */
export async function recordedIdentity(sql: Sql): Promise<RecordedIdentity | undefined> {
  const [row] = await sql.query<RecordedIdentity>(READ);
  return row;
}

const ADOPT = `
  insert into instance (id, place, confirmed_at) values (1, $1, now()) on conflict (id) do nothing`;

/** Returns the recorded identity. A database without one adopts `here`. */
export async function adoptIdentity(sql: Sql, here: DatabaseIdentity): Promise<RecordedIdentity> {
  const known = await recordedIdentity(sql);
  if (known) return known;
  // Another process may adopt the database at the same time, with another identity. The identity
  // that the database has recorded then counts.
  await sql.query(ADOPT, [JSON.stringify(here)]);
  const [adopted] = await sql.query<RecordedIdentity>(READ);
  if (!adopted) throw new Error('the table instance has no row although one was just inserted');
  return adopted;
}

const CONFIRM = `
  insert into instance (id, place, confirmed_at) values (1, $1, now())
  on conflict (id) do update set
    place = excluded.place, confirmed_at = excluded.confirmed_at, refused_place = null, refused_at = null`;

/** Records the current identity: from now on the database belongs to this installation. */
export async function confirmIdentity(sql: Sql, here: DatabaseIdentity): Promise<void> {
  await sql.query(CONFIRM, [JSON.stringify(here)]);
}

const DOUBT = `update instance set place = place || jsonb_build_object('doubt', $1::text) where id = 1`;

/**
 * Records that the database was restored to an older state. No installation works on it until the
 * operator confirms it.
 * @param reason for operators
 */
export async function markRestored(sql: Sql, reason: string): Promise<void> {
  await sql.query(DOUBT, [reason]);
}

/** A worker looks again each second. Its row is written less often. */
const REFUSE = `
  update instance set refused_place = $1, refused_at = now()
  where id = 1 and (refused_place is distinct from $1::jsonb or refused_at < now() - interval '5 seconds')`;

/**
 * Records the identity of a worker that refuses the database. The console confirms this identity
 * instead of its own: an `api` process may reach the database by another address (docs/adr/0136).
 */
export async function recordRefusal(sql: Sql, here: DatabaseIdentity): Promise<void> {
  await sql.query(REFUSE, [JSON.stringify(here)]);
}
