import type { MoveSteps } from '../../../platform/moves/move-runner.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import type { Message } from '../message.entity.ts';
import type { MessageBody } from './message-content.entity.ts';
import { CONTENTS_MOVE, storeNewForm } from './store-contents.ts';

/** Limits of a step: number of messages, and bytes of their bodies. */
const MOST_ROWS = 100;
const MOST_BYTES = 4 * 1024 * 1024;

// Writers lock the message first, too. The rows before the last one that was moved are dead, and
// searching them again in each step would take longer and longer.
const LOCK = `
  select m.id, m.account_id as "accountId", octet_length(b.body) as bytes
  from message_body b join message m on m.id = b.message_id
  where b.message_id > $1 order by b.message_id limit ${MOST_ROWS} for no key update of m skip locked`;
const READ = `select message_id as id, body, headers, warnings from message_body where message_id = any($1::uuid[])`;

type LockedBody = RowOf<Message, 'id' | 'accountId'> & { bytes: number };
type OldContent = { id: string } & RowOf<MessageBody, 'body' | 'headers' | 'warnings'>;

const FIRST = '00000000-0000-0000-0000-000000000000';

/** Moves bodies and headers from `message_body` to `message_content`, in the order of their ids. */
export class ContentMove implements MoveSteps {
  readonly name = CONTENTS_MOVE;
  #after = FIRST;

  async step(sql: Sql): Promise<number> {
    const locked = upTo(MOST_BYTES, await sql.query<LockedBody>(LOCK, [this.#after]));
    this.#after = locked.at(-1)?.id ?? FIRST;
    for (const [accountId, messages] of Map.groupBy(locked, (message) => message.accountId)) {
      const ids = messages.map(({ id }) => id);
      await storeNewForm(sql, accountId, await sql.query<OldContent>(READ, [ids]));
    }
    return locked.length;
  }
}

/** The first rows that have at most `most` bytes together, but at least one. */
function upTo(most: number, rows: readonly LockedBody[]): LockedBody[] {
  let total = 0;
  return rows.filter(({ bytes }, index) => (total += bytes) <= most || index === 0);
}
