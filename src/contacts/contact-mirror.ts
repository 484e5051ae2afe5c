import { idsOf, type Sql } from '../platform/database/sql.ts';
import { hasOpenWrite } from '../accounts/provider-writes/open-writes.ts';
import { type ContactFields, contactFields } from '../providers/port/contact-content.ts';

/* Contacts as they are at their provider: what the mirror reads of them and writes, besides `contact-store.ts`. */

export interface MirrorContact {
  id: string;
  providerId: string;
  fields: ContactFields;
  picture: string | null;
  /** A write of ours is under way. */
  writing: boolean;
  /** When it was last changed here, read or written there. */
  touchedAt: Date;
}

const HOLD = `
  with wanted as (
    select id from contact where account_id = $1 and source = 'address_book' and provider_id = any($2::text[])
    union
    select c.id from contact c
    where $4 and c.account_id = $1 and c.source = 'address_book' and c.provider_id is not null
      and not exists (select 1 from unnest($3::text[]) p(provider_id) where p.provider_id = c.provider_id))
  select c.id, c.provider_id as "providerId", c.content, c.picture,
    ${hasOpenWrite('c.id')} as writing,
    greatest(c.updated_at, c.provider_seen_at) as "touchedAt"
  from contact c join wanted using (id) order by c.id for update of c`;

/** Those of ours that are being created there: they may be listed before their ids there are known. */
const COMING = `
  select id from contact where account_id = $1 and provider_id is null and id = any($2::uuid[])`;

const SEEN = `
  update contact c set provider_content = x.content, provider_seen_at = $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, content jsonb)
  where c.id = x.id and c.account_id = $1`;

const REMOVE = `delete from contact where account_id = $1 and id = any($2::uuid[])`;

/**
 * Contacts by the provider's ids, held until the transaction ends.
 * @param present also all that are not among these; null: no more
 */
export async function holdContacts(
  sql: Sql,
  accountId: string,
  providerIds: readonly string[],
  present: readonly string[] | null,
): Promise<MirrorContact[]> {
  const rows = await sql.query<Omit<MirrorContact, 'fields'> & { content: ContactFields }>(HOLD, [
    accountId,
    providerIds,
    present ?? [],
    present !== null,
  ]);
  return rows.map(({ content, ...row }) => ({ ...row, fields: contactFields(content) }));
}

/** Those of the ids that are contacts of ours without an id at the provider. */
export async function comingContacts(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>(COMING, [accountId, ids]);
  return new Set(idsOf(rows));
}

/** What the provider has now. */
export async function storeSeenContacts(
  sql: Sql,
  accountId: string,
  contacts: readonly { id: string; content: ContactFields }[],
  at: Date,
): Promise<void> {
  if (contacts.length > 0) await sql.query(SEEN, [accountId, JSON.stringify(contacts), at]);
}

export async function removeContacts(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length > 0) await sql.query(REMOVE, [accountId, ids]);
}
