import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import type { AppConfig } from '../config/app-config.ts';
import type { Sql } from '../database/sql.ts';

/*
 * Which installation may act on what a database holds. A database that was restored from a copy holds messages that
 * have left since, or that somebody else is about to send; it remembers where it belongs, and whoever finds it
 * elsewhere leaves it alone until the operator says otherwise (docs/adr/0022).
 */

/** Where a database is: parts by name, compared one by one. */
export interface Place {
  /** What `initdb` gave the server; copies of its files share it. Absent where we may not ask. */
  server?: string;
  /** Number and name of the database: another one, also on the same server, has another number. */
  database: string;
  /** Host, port and name as DATABASE_URL says; for the embedded database its folder. Never a user or a password. */
  address: string;
  name: string;
  /** Why a living worker took it for an older state of itself. Only in what is recorded. */
  doubt?: string;
}

/** What the database remembers. */
export interface RecordedPlace {
  place: Place;
  confirmedAt: Date;
}

const PARTS = [
  'server',
  'database',
  'address',
  'name',
  'doubt',
] as const satisfies readonly (keyof Place)[];

/** One part of two places that is not the same. */
export interface PlaceDifference {
  part: keyof Place;
  recorded: string | undefined;
  here: string | undefined;
}

/** The parts in which two places differ; none: it is the same place. */
export function placeDifferences(recorded: Place, here: Place): PlaceDifference[] {
  return PARTS.filter((part) => recorded[part] !== here[part]).map((part) => ({
    part,
    recorded: recorded[part],
    here: here[part],
  }));
}

/** For operators: every part that differs, as it was and as it is. */
export function describeDifferences(differences: readonly PlaceDifference[]): string {
  return differences
    .map(({ part, recorded, here }) =>
      part === 'doubt'
        ? (recorded ?? '')
        : `${part} was ${recorded ?? 'unknown'}, is ${here ?? 'unknown'}`,
    )
    .join('; ');
}

/**
 * The address of the configured database, without user and password. A folder is named with the number of its inode: a
 * copy that takes its place has another one.
 */
export function databaseAddress({
  database,
  dataDir,
}: Pick<AppConfig, 'database' | 'dataDir'>): string {
  if (database.embedded) {
    const folder = fs.realpathSync(path.join(dataDir, 'postgres'));
    return `${folder} (inode ${fs.statSync(folder).ino})`;
  }
  // As the driver reads it, with what it takes from PGHOST, PGPORT and PGDATABASE; it connects nowhere.
  const { host, port, database: name } = new pg.Client({ connectionString: database.url });
  return `${host}:${port}/${name ?? ''}`;
}

const DATABASE = `
  select oid || ' ' || datname as database from pg_database where datname = current_database()`;
const SERVER = 'select system_identifier::text as server from pg_control_system()';

/** No right to ask (42501), no such function (42883), or a server that refuses to tell (0A000). */
const NOT_TOLD = ['42501', '42883', '0A000'];

async function serverOf(sql: Sql): Promise<{ server?: string }> {
  try {
    const [row] = await sql.query<{ server: string }>(SERVER);
    return row ? { server: row.server } : {};
  } catch (error) {
    if (NOT_TOLD.includes(String((error as { code?: unknown }).code))) return {};
    throw error;
  }
}

/** Where the configured database is now. Not inside a transaction: asking for what is not told would end it. */
export async function placeHere(
  sql: Sql,
  config: Pick<AppConfig, 'database' | 'dataDir' | 'instanceName'>,
): Promise<Place> {
  const [row] = await sql.query<{ database: string }>(DATABASE);
  return {
    ...(await serverOf(sql)),
    database: row?.database ?? '',
    address: databaseAddress(config),
    name: config.instanceName,
  };
}

const READ = 'select place, confirmed_at as "confirmedAt" from instance where id = 1';

/** @returns undefined when nobody has ever worked on the database */
export async function recordedPlace(sql: Sql): Promise<RecordedPlace | undefined> {
  const [row] = await sql.query<RecordedPlace>(READ);
  return row;
}

const ADOPT = `
  insert into instance (id, place, confirmed_at) values (1, $1, now()) on conflict (id) do nothing`;

/** What the database remembers; one that remembers nothing belongs to the first who asks, from then on. */
export async function adoptPlace(sql: Sql, here: Place): Promise<RecordedPlace> {
  const known = await recordedPlace(sql);
  if (known) return known;
  // Somebody else may be adopting it at the same moment, from another place: what stands there then counts.
  await sql.query(ADOPT, [JSON.stringify(here)]);
  const [adopted] = await sql.query<RecordedPlace>(READ);
  if (!adopted) throw new Error('the table instance lost its row');
  return adopted;
}

const CONFIRM = `
  insert into instance (id, place, confirmed_at) values (1, $1, now())
  on conflict (id) do update set place = excluded.place, confirmed_at = excluded.confirmed_at`;

/** From now on the database belongs here. */
export async function confirmPlace(sql: Sql, here: Place): Promise<void> {
  await sql.query(CONFIRM, [JSON.stringify(here)]);
}

const DOUBT = `update instance set place = place || jsonb_build_object('doubt', $1::text) where id = 1`;

/** Keeps every installation away until the operator confirms. @param reason for operators */
export async function doubtPlace(sql: Sql, reason: string): Promise<void> {
  await sql.query(DOUBT, [reason]);
}
