import type { Sql } from '../../database/sql.ts';
import { DEAD_AFTER_SECONDS } from '../queue/queue-statements.ts';

const NAMELESS = `
  select 1 from worker where release is null and seen_at > now() - interval '${DEAD_AFTER_SECONDS} s' limit 1`;

/**
 * True while a worker is alive that does not announce its release, as in an upgrade. It does not
 * know sent messages that wait for their copies (ADR 0119).
 */
export async function hasOlderWorkers(sql: Sql): Promise<boolean> {
  return (await sql.query(NAMELESS)).length > 0;
}
