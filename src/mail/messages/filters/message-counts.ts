import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { FilterFolders } from '../../folders/find-folders.ts';
import { peopleAskedFor } from './message-conditions.ts';
import type { MessageFilter } from './message-filter.ts';
import { PEOPLE_HEADERS } from './people.ts';

const ALL = `
  select coalesce(sum(message_count), 0)::int as count from thread where account_id = $1 and message_count > 0`;

// Folders also contain drafts, which are never counted. `not in` would take a third longer: its
// subquery is asked for each message, and this one is joined.
const NO_DRAFT = `not exists (select from message d where d.account_id = $1 and d.draft and d.id = o.message_id)`;
const IN_FOLDER = `
  select count(*)::int as count from message_folder o where o.folder_id = $2 and ${NO_DRAFT}`;
const IN_FOLDERS = `
  select count(distinct o.message_id)::int as count from message_folder o
  where o.folder_id = any($2::uuid[]) and ${NO_DRAFT}`;

const OF_PERSON = `
  select coalesce(sum(messages), 0)::int as count from thread_person where account_id = $1 and person = $2`;

/**
 * Counts messages without reading them: all, those in one folder, those in none of some folders,
 * and those with one person in a header. Threads, which are far fewer, know their messages.
 * @param folders the folders that the filter names
 * @returns `undefined` for any other filter; then the messages themselves must be counted
 */
export async function countMessages(
  sql: Sql,
  accountId: string,
  filter: MessageFilter,
  folders: FilterFolders,
): Promise<number | undefined> {
  const count = async (text: string, value?: unknown) => {
    const values = value === undefined ? [accountId] : [accountId, value];
    // The plan for a large folder is wrong for a small one, and the other way round.
    const prepared = text !== IN_FOLDER && text !== IN_FOLDERS;
    const [row] = await sql.query<{ count: number }>(text, values, { prepared });
    return row?.count ?? 0;
  };
  const [asked, another] = Object.entries(filter).flatMap(([name, value]) =>
    restricts(value) ? [name] : [],
  );
  if (another !== undefined) return undefined;
  const notIn = folders.notIn ?? [];
  if (asked === undefined || (asked === 'notIn' && notIn.length === 0)) return count(ALL);
  if (asked === 'notIn') return (await count(ALL)) - (await count(IN_FOLDERS, idsOf(notIn)));
  if (asked === 'in') {
    const [folder, more] = folders.in ?? [];
    const isOne = folder && !more && folder.name !== 'drafts';
    return isOne ? count(IN_FOLDER, folder.id) : undefined;
  }
  const [[person] = []] = peopleAskedFor(filter);
  const header = PEOPLE_HEADERS.find((one) => one === asked);
  return header && person ? count(OF_PERSON, person) : undefined;
}

/** True if a part of a filter restricts the list. A span with two open ends does not. */
function restricts(value: MessageFilter[keyof MessageFilter]): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return value !== undefined;
  return Object.values(value).some((end) => end !== undefined);
}
