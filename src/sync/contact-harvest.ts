import { newId } from '../platform/base/ids/ids.ts';
import { contactChange } from '../contacts/contact-changes.ts';
import { filterKey } from '../contacts/contact-keys.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { ChangeRecord } from '../platform/changes/change-log.ts';
import { contactFields } from '../providers/port/contact-content.ts';
import type { StandardFolders } from './folder-mirror.ts';
import type { MirrorOwner } from './mirror-changes.ts';
import type { NewMessage } from './mirror-plan.ts';
import { partsOfName, peopleOf, type Person } from './people.ts';

// Most are known, and by a name that is as good: those are read and nothing else.
const HARVEST = `
  with given as (
    select * from jsonb_to_recordset($2::jsonb) x(id uuid, email text, key text, rank smallint, content jsonb)),
  news as (
    select g.* from given g
    left join contact c on c.account_id = $1 and c.source = 'inbox' and c.provider_id = g.email
    where c.id is null or c.name_rank < g.rank),
  written as (
    insert into contact (id, account_id, source, provider_id, content, name_rank, created_at, updated_at)
    select id, $1, 'inbox', email, content, rank, $3, $3 from news order by id
    on conflict (account_id, source, provider_id) do update
      set content = excluded.content, name_rank = excluded.name_rank, updated_at = excluded.updated_at
    returning id, provider_id, (xmax = 0) as created),
  keyed as (
    insert into contact_key (account_id, field, value, contact_id, source)
    select $1, 'email', g.key, w.id, 'inbox' from written w join news g on g.email = w.provider_id where w.created)
  select id, provider_id as email, created from written`;

/**
 * Keeps the contacts that mail tells of (source `inbox`): the people of messages that are new, drafts, spam and trash apart.
 * One statement for a batch, in its transaction.
 * @returns what changes; subscribers are told of people in messages that are news
 */
export async function harvestContacts(
  sql: Sql,
  { account, newsSince, at }: MirrorOwner,
  added: readonly NewMessage[],
  { spam, trash }: StandardFolders,
): Promise<ChangeRecord[]> {
  const { accountId, applicationId, email: own } = account;
  const unwanted = [spam, trash].filter((id) => id !== undefined);
  const messages = added
    .filter(({ draft, remote }) => !draft && !remote.folderIds.some((id) => unwanted.includes(id)))
    .map(({ from, to, cc, headers, remote }) => {
      return { from, to, cc, headers, news: newsSince === null || remote.receivedAt >= newsSince };
    });
  const people = new Map(peopleOf(messages, own).map((person) => [person.email, person]));
  if (people.size === 0) return [];
  const rows = JSON.stringify([...people.values()].map(rowOf));
  const written = await sql.query<{ id: string; email: string; created: boolean }>(HARVEST, [
    accountId,
    rows,
    at,
  ]);
  const owner = { applicationId, accountId, at };
  return written.map(({ id, email, created }) => {
    const verb = created ? 'created' : 'updated';
    const dedupe = people.get(email)?.news ? `contact:${id}:${verb}:${newId()}` : null;
    return contactChange(owner, id, verb, dedupe);
  });
}

function rowOf({ email, name, rank }: Person) {
  const { given, middle, surname } = partsOfName(name);
  const content = contactFields({
    given_name: given,
    middle_name: middle,
    surname,
    emails: [{ type: null, email }],
  });
  return { id: newId(), email, key: filterKey('email', email), rank, content };
}
