// Consumes each event of a webhook exactly once: the work for an event and the cursor after it are
// written in one transaction of your own database. If the program is killed, both are there or none.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const { CARILLON_API_URL, CARILLON_CLIENT_ID, CARILLON_CLIENT_SECRET, WEBHOOK_ID, DATABASE_URL } =
  process.env;
const application = `${CARILLON_API_URL}/a/${CARILLON_CLIENT_ID}`;
const authorization = `Basic ${btoa(`${CARILLON_CLIENT_SECRET}:`)}`;

const database = new pg.Client({ connectionString: DATABASE_URL });
await database.connect();
await database.query(`
  create table if not exists feed_cursor (webhook_id text primary key, cursor text not null);
  create table if not exists handled_event (event_id text not null, type text not null)`);
// '0' is the oldest stored event.
await database.query(`insert into feed_cursor values ($1, '0') on conflict do nothing`, [
  WEBHOOK_ID,
]);

async function call(path, options = {}) {
  const headers = { authorization, 'content-type': 'application/json' };
  const response = await fetch(`${application}${path}`, { headers, ...options });
  if (response.status === 410) throw new Error('The cursor is too old: read everything again');
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

/** Your work for one event. Use only this database: other effects would not be undone. */
async function handle({ event_id: id, type }) {
  await database.query('insert into handled_event values ($1, $2)', [id, type]);
}

const SELECT = 'select cursor from feed_cursor where webhook_id = $1';

async function consumePage() {
  const { rows } = await database.query(SELECT, [WEBHOOK_ID]);
  const cursor = rows[0].cursor;
  const query = new URLSearchParams({ webhook_id: WEBHOOK_ID, cursor, limit: 20, timeout: 30 });
  const page = await call(`/events?${query}`);
  await database.query('begin');
  try {
    const locked = await database.query(`${SELECT} for update`, [WEBHOOK_ID]);
    // Another process of this program was faster.
    if (locked.rows[0].cursor !== cursor) return;
    for (const delta of page.deltas) await handle(delta);
    await database.query('update feed_cursor set cursor = $2 where webhook_id = $1', [
      WEBHOOK_ID,
      page.cursor_end,
    ]);
    await database.query('commit');
  } finally {
    // Undoes everything unless it is committed.
    await database.query('rollback');
  }
  // Only for the console and for `GET /webhooks/{id}`: the cursor that counts is in this database.
  const body = JSON.stringify({ webhook_id: WEBHOOK_ID, cursor: page.cursor_end });
  await call('/events/ack', { method: 'POST', body });
}

console.log('Consuming. Stop with Ctrl-C.');
for (;;) {
  try {
    await consumePage();
  } catch (error) {
    console.error(error.message);
    await pause(1000);
  }
}
