import type { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { FailingCheck } from '../../platform/work/readiness.ts';
import { WrongKeysError } from './key-check.ts';
import type { Worker } from '../../platform/work/workers/worker.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A process as it registers itself. */
export interface ProcessSelf {
  id: string;
  host: string;
  pid: number;
  roles: readonly string[];
  /** Address of the console that the process serves; `null` if it serves none. */
  consoleUrl: string | null;
}

/**
 * After this time without an update, a process counts as ended. Processes update their row every
 * ten seconds.
 */
const SILENT_SECONDS = 60;

const REGISTER = `
  with ended as (delete from running_process where seen_at < now() - interval '1 day')
  insert into running_process (id, host, pid, roles, sealing_key, keys, console_url, started_at, seen_at)
  values ($1, $2, $3, $4, $5, $6, $7, now(), now())
  on conflict (id) do update set seen_at = excluded.seen_at`;

/** Records that the process is alive, and which keys it has. */
export async function registerProcess(sql: Sql, self: ProcessSelf, box: SecretBox): Promise<void> {
  const { id, host, pid, roles, consoleUrl } = self;
  const keys = JSON.stringify(box.fingerprints);
  await sql.query(REGISTER, [id, host, pid, roles, box.currentKeyId, keys, consoleUrl]);
}

const CONSOLES = `
  select console_url as url from running_process
  where seen_at > now() - make_interval(secs => ${SILENT_SECONDS}) and console_url is not null
  group by console_url order by max(seen_at) desc`;

/** Addresses of the console that running processes serve, the latest first. */
export async function runningConsoles(sql: Sql): Promise<string[]> {
  return (await sql.query<{ url: string }>(CONSOLES)).map(({ url }) => url);
}

const REPORT = `update running_process set problems = $2, clock_ahead_seconds = $3 where id = $1`;

/**
 * Records what operators see of a process (`Overview.processes`).
 * @param problems readiness checks that fail
 * @param clockAheadSeconds result of `clockAhead`
 */
export async function reportProcess(
  sql: Sql,
  id: string,
  problems: readonly FailingCheck[],
  clockAheadSeconds: number,
): Promise<void> {
  await sql.query(REPORT, [id, JSON.stringify(problems), clockAheadSeconds]);
}

/** Deletes the record at an orderly stop. */
export async function unregisterProcess(sql: Sql, id: string): Promise<void> {
  await sql.query('delete from running_process where id = $1', [id]);
}

/**
 * Running processes without the key. Includes workers of older versions, which do not register in
 * `running_process`.
 */
const WITHOUT_KEY = `
  select host, pid, array_to_string(roles, ',') as roles, keys ? $1 as known
  from running_process
  where seen_at > now() - make_interval(secs => ${SILENT_SECONDS}) and keys ->> $1 is distinct from $2
  union all
  select w.host, w.pid, 'worker', false from worker w
  where w.seen_at > now() - interval '10 s'
    and not exists (select 1 from running_process p where p.host = w.host and p.pid = w.pid)
  order by host, pid`;

/**
 * Checks that every running process can decrypt values of the newest key.
 * @throws {WrongKeysError} naming every running process that cannot
 */
export async function requireKeyEverywhere(sql: Sql, box: SecretBox): Promise<void> {
  const id = box.currentKeyId;
  const processes = await sql.query<
    RowOf<Worker, 'host' | 'pid'> & { roles: string; known: boolean }
  >(WITHOUT_KEY, [id, box.fingerprints[id]]);
  if (processes.length === 0) return;
  const lines = processes.map(
    ({ host, pid, roles, known }) =>
      `  ${host}, process ${pid} (${roles}): ${known ? `has different bytes under "${id}"` : `lacks the key "${id}"`}`,
  );
  throw new WrongKeysError(
    `Running processes cannot decrypt values of the newest key:\n${lines.join('\n')}\n` +
      `Nothing was changed. Restart them with "${id}" in ENCRYPTION_KEYS. If one of them has died, wait a minute, or repeat with --force.`,
  );
}
