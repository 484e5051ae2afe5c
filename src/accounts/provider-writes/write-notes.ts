import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ClaimedRow } from '../../platform/work/queue/dispatcher.ts';
import type { WriteNotes } from '../../providers/port/connector.ts';
import { ROW_CLAIMED } from '../../platform/work/queue/row-state.ts';

/** Name of the notes in the payload of a queue row. They are JSON there: jsonb takes no NUL. */
const NAME = 'connector_notes';

const STORE = `
  update provider_job set payload = payload || jsonb_build_object($4::text, $3::text)
  where id = $1 and fence = $2 and state = ${ROW_CLAIMED} returning 1`;

/** The notes of a write, in the payload of its queue row. */
export function notesOf(
  sql: Sql,
  { id, fence }: Pick<ClaimedRow, 'id' | 'fence'>,
  payload: Readonly<Record<string, unknown>>,
): WriteNotes {
  const kept = payload[NAME];
  return {
    text: typeof kept === 'string' ? (JSON.parse(kept) as string) : null,
    async store(text) {
      const stored = await sql.query(STORE, [id, fence, JSON.stringify(text), NAME]);
      if (stored.length === 0)
        throw new ProviderError('temporary', 'Another process has taken over this write');
    },
  };
}
