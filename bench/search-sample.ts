import { peopleOf } from '../src/mail/messages/filters/people.ts';
import { newId } from '../src/platform/base/ids/ids.ts';
import { searchDocument } from '../src/formats/text/search-document.ts';

const BATCH = 1_000;
/** Number of different words in the sample, and of words per message. */
const VOCABULARY = 30_000;
const WORDS = 120;
const PEOPLE = 400;
const CONVERSATION = 3;
const ATTACHMENT_EVERY = 6;
/** Milliseconds between messages: 100,000 messages span two years. */
const EVERY_MS = 600_000;

/** The word with a frequency rank. Rank 0 is in nearly every message, the last ranks in a few. */
export const wordOf = (rank: number): string =>
  `w${(rank * 7_919 + 97).toString(26).replaceAll(/\d/g, 'z')}q${rank}`;
/** Two adjacent words in every message. */
export const EVERYWHERE = ['quarterly', 'figures'] as const;
/** In one of 20,000 messages. */
export const RARE = 'zeppelin';

/** Numbers between 0 and 1, the same for each seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const MESSAGES = `
  with given as (select * from jsonb_to_recordset($2::jsonb) x(
    id uuid, thread_id uuid, subject text, date timestamptz, sender jsonb, participants text[], unread boolean,
    body text, document text, file boolean)),
  threads as (
    insert into thread (id, account_id, subject, first_message_at, last_message_at, last_received_at, message_count, folder_ids)
    select distinct on (thread_id) thread_id, $1::uuid, subject, date, date, date, 3, array[$3::uuid] from given
    on conflict (id) do nothing),
  summaries as (
    insert into thread_summary (thread_id, account_id, people, message_ids, snippet, has_attachments, length)
    select thread_id, $1::uuid, jsonb_agg(sender -> 0), array_agg(id order by date), min(left(body, 190)), bool_or(file), 300
    from given group by thread_id
    on conflict (thread_id) do update set message_ids = thread_summary.message_ids || excluded.message_ids),
  messages as (
    insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
      cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
      message_id_header, reference_ids, metadata)
    select id, $1, id::text, thread_id, subject, left(body, 190), date, sender, '[]', '[]', '[]', '[]', participants,
      unread, false, file, false, '<' || id || '@bench.test>', '{}', '{}' from given),
  bodies as (
    -- They are too short to be compressed.
    insert into message_content (account_id, message_id, body, bytes)
    select $1, id, convert_to(body, 'UTF8'), octet_length(body) from given),
  files as (
    insert into file (id, account_id, message_id, part, filename, content_type, content_disposition, size)
    select gen_random_uuid(), $1, id, 0, 'report.pdf', 'application/pdf', 'attachment', 1000 from given where file),
  places as (
    insert into message_folder (message_id, folder_id, date, account_id) select id, $3, date, $1 from given)
  insert into search_document (message_id, account_id, date, document)
  select id, $1, date, document::tsvector from given`;

const FOLDER = `
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  values ($1, $2, 'INBOX', 'inbox', 'Inbox', now(), now())`;

/** A connection or a pool. */
interface Queries {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/**
 * Writes a mailbox as the mirror does, without a provider. Word frequencies are like those of a
 * language, and three messages make a conversation. The newest message is of now.
 */
export async function seedMailbox(
  sql: Queries,
  accountId: string,
  count: number,
  seed: number,
): Promise<void> {
  const random = randomFrom(seed);
  const folderId = newId();
  await sql.query(FOLDER, [folderId, accountId]);
  const begin = Date.now() - count * EVERY_MS;
  let threadId = newId();
  for (let low = 0; low < count; low += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - low) }, (_, index) => {
      const number = low + index;
      if (number % CONVERSATION === 0) threadId = newId();
      return messageOf(number, { threadId, date: new Date(begin + number * EVERY_MS) }, random);
    });
    await sql.query(MESSAGES, [accountId, JSON.stringify(rows), folderId]);
  }
}

function messageOf(
  number: number,
  { threadId, date }: { threadId: string; date: Date },
  random: () => number,
) {
  // As in a language, a word's frequency falls with its rank.
  const word = () => wordOf(Math.floor(VOCABULARY ** random()) - 1);
  const text = Array.from({ length: WORDS }, (_, index) =>
    index === 60 ? EVERYWHERE.join(' ') : word(),
  );
  if (number % 20_000 === 7) text.push(RARE);
  const person = Math.floor(random() * PEOPLE);
  const from = [{ name: `Person ${wordOf(person)}`, email: `person-${person}@elsewhere.test` }];
  const to = [{ name: 'Ada', email: 'ada@example.test' }];
  const file = number % ATTACHMENT_EVERY === 0;
  const subject = `${word()} ${word()} ${word()}`;
  const body = `<p>${text.join(' ')}</p>`;
  const files = file ? [{ filename: 'report.pdf' }] : [];
  const document = searchDocument({ subject, from, to, cc: [], bcc: [], body, files });
  return {
    id: newId(),
    thread_id: threadId,
    subject,
    date,
    sender: from,
    participants: peopleOf({ from, to, cc: [], bcc: [] }),
    unread: random() < 0.02,
    body,
    document,
    file,
  };
}
