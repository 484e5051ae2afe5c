import { newId } from '../../platform/base/ids/ids.ts';
import { contactChange } from '../../contacts/contact-changes.ts';
import { filterKey } from '../../contacts/contact-keys.ts';
import { type PersonOfMail, writePeopleOfMail } from '../../contacts/people-of-mail.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import { contactFields } from '../../providers/port/contact-content.ts';
import type { StandardFolders } from '../folders/folder-mirror.ts';
import type { MirrorOwner } from '../messages/mirror-changes.ts';
import type { NewMessage } from '../messages/mirror-plan.ts';
import { partsOfName, peopleOf, type Person } from '../messages/people.ts';

/**
 * Stores the people of new messages as contacts with the source `inbox`. Drafts, spam and trash are
 * skipped. Uses one statement for the whole batch, in the transaction of the batch.
 * @returns the change-log records; people in newly received messages also cause webhooks
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
    .map(({ from, to, cc, headers, isAutomatic, remote }) => {
      const news = newsSince === null || remote.receivedAt >= newsSince;
      return { from, to, cc, headers, isAutomatic, news };
    });
  const people = new Map(peopleOf(messages, own).map((person) => [person.email, person]));
  if (people.size === 0) return [];
  const written = await writePeopleOfMail(sql, accountId, [...people.values()].map(rowOf), at);
  const owner = { applicationId, accountId, at };
  return written.map(({ id, email, created }) => {
    const verb = created ? 'created' : 'updated';
    const dedupe = people.get(email)?.news ? `contact:${id}:${verb}:${newId()}` : null;
    return contactChange(owner, id, verb, dedupe);
  });
}

function rowOf({ email, name, rank }: Person): PersonOfMail {
  const { given, middle, surname } = partsOfName(name);
  const content = contactFields({
    given_name: given,
    middle_name: middle,
    surname,
    emails: [{ type: null, email }],
  });
  return { id: newId(), email, key: filterKey('email', email), rank, content };
}
