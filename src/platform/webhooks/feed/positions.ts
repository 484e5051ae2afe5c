import type { Sql } from '../../database/sql.ts';
import type { Position } from '../../waiting/cursor.ts';
import type { WebhookPosition } from './webhook-position.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/** How far the owner of a webhook has acknowledged its events. */
export interface AcknowledgedPosition {
  position: Position;
  acknowledgedAt: Date;
}

const READ = `
  select seq, event_at as "eventAt", acknowledged_at as "acknowledgedAt" from webhook_position where webhook_id = $1`;

/** `null` if nothing has been acknowledged. */
export async function readPosition(
  sql: Sql,
  webhookId: string,
): Promise<AcknowledgedPosition | null> {
  type Row = RowOf<WebhookPosition, 'seq' | 'eventAt' | 'acknowledgedAt'>;
  const [row] = await sql.query<Row>(READ, [webhookId]);
  if (!row) return null;
  const { seq, eventAt, acknowledgedAt } = row;
  return { position: { seq, at: eventAt.getTime() }, acknowledgedAt };
}

const STORE = `
  insert into webhook_position as p (webhook_id, seq, event_at, acknowledged_at)
  select w.id, $2, $3, $4 from (select id from webhook where id = $1 for key share) w
  on conflict (webhook_id) do update
    set seq = excluded.seq, event_at = excluded.event_at, acknowledged_at = excluded.acknowledged_at
  where p.seq < excluded.seq or $5
  returning 1`;

/**
 * Stores an acknowledged position. An earlier one than the stored position changes nothing.
 * @param rewind whether the position may become an earlier one
 * @returns whether it was stored
 */
export async function storePosition(
  sql: Sql,
  webhookId: string,
  { seq, at }: Position,
  { now, rewind }: { now: Date; rewind: boolean },
): Promise<boolean> {
  const rows = await sql.query(STORE, [webhookId, seq, new Date(at), now, rewind]);
  return rows.length > 0;
}
