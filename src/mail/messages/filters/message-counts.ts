import { idsOf, type Sql } from '../../../platform/database/sql.ts';
import type { FoundFolder } from '../../folders/find-folders.ts';
import { peopleAskedFor } from './message-conditions.ts';
import type { MessageFilter } from './message-filter.ts';
import { PEOPLE_HEADERS } from './people.ts';

const ALL = `
  select coalesce(sum(message_count), 0)::int as count from thread where account_id = $1 and message_count > 0`;

// Folders also contain drafts, which are never counted.
const IN_FOLDERS = `
  select count(distinct o.message_id)::int as count from message_folder o
  where o.folder_id = any($2::uuid[])
    and o.message_id not in (select d.id from message d where d.account_id = $1 and d.draft)`;

const OF_PERSON = `
  select coalesce(sum(messages), 0)::int as count from thread_person where account_id = $1 and person = $2`;

/**
 * Counts messages from thread rows, which are far fewer than messages. It can count all messages,
 * those in none of some folders, and those with one person in a header.
 * @param notIn the folders that the filter's `notIn` names
 * @returns `undefined` for any other filter; then the messages themselves must be counted
 */
export async function countByThreads(
  sql: Sql,
  accountId: string,
  filter: MessageFilter,
  notIn: readonly FoundFolder[] = [],
): Promise<number | undefined> {
  const count = async (text: string, ...values: unknown[]) => {
    const [row] = await sql.query<{ count: number }>(text, [accountId, ...values]);
    return row?.count ?? 0;
  };
  const [asked, another] = Object.entries(filter).flatMap(([name, value]) =>
    restricts(value) ? [name] : [],
  );
  if (another !== undefined) return undefined;
  if (asked === undefined || (asked === 'notIn' && notIn.length === 0)) return count(ALL);
  if (asked === 'notIn') return (await count(ALL)) - (await count(IN_FOLDERS, idsOf(notIn)));
  const [[person] = []] = peopleAskedFor(filter);
  const header = PEOPLE_HEADERS.find((one) => one === asked);
  return header && person ? count(OF_PERSON, person) : undefined;
}

/** True if a part of a filter restricts the list. A span with two open ends does not. */
function restricts(value: MessageFilter[keyof MessageFilter]): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return value !== undefined;
  return Object.values(value).some((end) => end !== undefined);
}
