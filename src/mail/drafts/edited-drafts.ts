import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { htmlText } from '../../formats/text/snippet.ts';
import { deleteAttachments } from '../files/store-attachments.ts';
import { readBodies } from '../messages/contents/read-contents.ts';
import { changesOfFiles } from '../messages/mirror/file-changes.ts';
import { listAgain } from '../messages/listed-messages.ts';
import type { Message } from '../messages/message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/*
 * Messages whose content at the provider may differ from that in the mirror: drafts that another
 * program has edited, and sent messages of which the provider has made its own copy.
 */

/** The content of a message, as far as it is compared. */
export interface ComparedContent {
  to: readonly Address[];
  cc: readonly Address[];
  bcc: readonly Address[];
  subject: string;
  /** HTML. */
  body: string;
  files: readonly { filename: string }[];
}

const CONTENTS = `
  select m.id, m.message_id_header as "messageIdHeader", m.to_addresses as "to", m.cc_addresses as cc, m.bcc_addresses as bcc, m.subject,
    (select coalesce(json_agg(json_build_object('filename', x.filename) order by x.position), '[]') from (
       select d.filename, d.position from draft_file d where d.message_id = m.id
       union all
       select f.filename, f.part from file f
       where f.message_id = m.id and not exists (select 1 from draft_file d where d.message_id = m.id)) x) as files
  from message m where m.account_id = $1 and m.id = any($2::uuid[]) and not m.listed`;

/** The content of a message in the mirror. */
export interface MirroredContent extends ComparedContent, RowOf<Message, 'messageIdHeader'> {}

/** Contents of messages by id. Those whose content is not known are left out. */
export async function mirroredContents(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, MirroredContent>> {
  const rows = await sql.query<Omit<MirroredContent, 'body'> & { id: string }>(CONTENTS, [
    accountId,
    ids,
  ]);
  const bodies = await readBodies(sql, accountId, idsOf(rows));
  return new Map(rows.map((row) => [row.id, { ...row, body: bodies.get(row.id) ?? '' }]));
}

/** UTF-16 units of HTML and of text that are compared. */
const MOST_HTML = 512 * 1024;
const MOST_TEXT = 64 * 1024;

/**
 * Whether two versions of a message have the same recipients, subject, text and names of files.
 * Markup and white space are not compared, because providers rewrite them.
 */
export function isSameContent(one: ComparedContent, other: ComparedContent): boolean {
  return comparable(one) === comparable(other);
}

function comparable({ to, cc, bcc, subject, body, files }: ComparedContent): string {
  const people = [to, cc, bcc].map((list) => list.map(({ email }) => email.toLowerCase()));
  const words = [subject, htmlText(body, MOST_HTML, MOST_TEXT)].map((text) =>
    text.split(/\s+/).filter(Boolean).join(' '),
  );
  return JSON.stringify([people, words, files.map(({ filename }) => filename)]);
}

/**
 * Gives up the content of messages, which is then unknown until the mirror stores it again. The
 * versions of drafts grow, so that a client cannot overwrite text that it has not seen. The caller
 * has locked the messages.
 * @param kept ids of files of these messages that stay
 * @returns records about their other files for the change log
 */
export async function giveUpContents(
  sql: Sql,
  owner: Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>,
  ids: readonly string[],
  kept: readonly string[],
): Promise<ChangeRecord[]> {
  const changes = await changesOfFiles(sql, owner, ids);
  await sql.query('delete from draft_file where message_id = any($1::uuid[])', [ids]);
  await deleteAttachments(sql, ids, kept);
  await listAgain(sql, owner.accountId, ids, owner.at);
  const staying = new Set(kept);
  return changes.filter(({ objectId }) => !staying.has(objectId));
}
