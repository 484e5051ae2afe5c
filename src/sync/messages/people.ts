import type { Address } from '../../platform/base/text/address.ts';

/*
 * Finds the people an account corresponds with in its messages. Pure functions;
 * `contact-harvest.ts` stores the result.
 */

/** The parts of a message that are searched for people. */
export interface Correspondence {
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  headers: string | null;
  isAutomatic: boolean;
  /** True if the message is new, that is, if it sends webhooks. */
  news: boolean;
}

/** A person found in a batch of messages. */
export interface Person {
  /** Lower case. */
  email: string;
  /** Display name; empty if no message has one. */
  name: string;
  /** Quality of the name, from 0 (no name) to 3 (a full name from the person's own messages). */
  rank: number;
  news: boolean;
}

/** Longer addresses do not belong to people. */
const MOST_EMAIL = 254;
const MOST_LOCAL = 64;
const MOST_NAME = 200;
/** A message with more recipients than this is a mass mailing, not correspondence. */
const MOST_RECIPIENTS = 100;

const ADDRESS = /^[^\s@<>(),;:"\\]+@[^\s@<>(),;:"\\.]+\.[^\s@<>(),;:"\\]+$/;

/**
 * Local parts of machine addresses: no-reply senders, mail system and notification senders, list
 * managers, and addresses made for one message.
 */
const MACHINES = [
  /(?:^|[-_.+])(?:no|do[-_.]?not|dont)[-_.]?reply(?:$|[-_.+\d])/,
  /^(?:mailer-daemon|postmaster|bounces?|abuse|hostmaster|listserv|majordomo|daemon)(?:$|[-_.+])/,
  /^(?:notifications?|notify|alerts?|news|newsletters?|mailings?|automated|unsubscribe)(?:$|[-_.+])/,
  /(?:^owner-|-(?:owner|request|bounces?|subscribe|unsubscribe|confirm|join|leave)$)/,
  /[\da-f]{20}|^(?:reply|bounce|unsub)[-_+.][^@]{12}|^[rb][-_+.](?=[^@]*\d)[^@]{12}/,
];

/** Headers that identify a mailing list (RFC 2369, RFC 2919). */
const LIST = /^list-(?:post|id):/im;
const LIST_POST = /^list-post:\s*<mailto:([^>?\s]+)/im;
const LIST_ID = /^list-id:[^<\r\n]*(?:\r?\n[ \t][^<\r\n]*)?<([^>\s]+)>/im;
/** A header of bulk mail (RFC 2369). */
const BULK = /^list-unsubscribe:/im;
const POSTED = /^list-post:\s*</im;

/** Addresses of the mailing list through which a message arrived. */
function listsOf(headers: string): string[] {
  if (!LIST.test(headers)) return [];
  const id = LIST_ID.exec(headers)?.[1]?.toLowerCase() ?? '';
  const [name, ...domain] = id.split('.');
  // The List-Id team.lists.example.org stands for team@lists.example.org or team@example.org.
  const named = [domain.join('.'), domain.slice(1).join('.')].map((host) => `${name}@${host}`);
  return [LIST_POST.exec(headers)?.[1]?.toLowerCase() ?? '', ...named];
}

/**
 * True if the address looks like that of a person rather than a machine.
 * @param email lower case
 */
export function isPersonal(email: string): boolean {
  const local = email.slice(0, email.lastIndexOf('@'));
  return (
    email.length <= MOST_EMAIL &&
    local.length <= MOST_LOCAL &&
    ADDRESS.test(email) &&
    !MACHINES.some((machine) => machine.test(local))
  );
}

/** A display name cleaned for storage; empty if it does not name the person. */
function nameIn({ name, email }: Address): string {
  const bare = name
    .replaceAll(/["“”]|^'+|'+$/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const says =
    bare !== '' && !bare.includes('@') && bare.length <= MOST_NAME && !/ via /i.test(bare);
  return says && bare.toLowerCase() !== email.toLowerCase() ? bare : '';
}

/**
 * The people of a batch of messages, without duplicates, ordered by address.
 * @param own the account's own address in lower case; it is never included
 */
export function peopleOf(messages: readonly Correspondence[], own: string): Person[] {
  const people = new Map<string, Person>();
  const add = (address: Address, best: number, news: boolean) => {
    const email = address.email.trim().toLowerCase();
    const known = people.get(email);
    if (!known && (email === own || !isPersonal(email))) return;
    const name = nameIn(address);
    const rank = name === '' ? 0 : best === 1 || name.includes(' ') ? best : best - 1;
    const better = !known || rank > known.rank;
    people.set(email, {
      email,
      name: better ? name : known.name,
      rank: better ? rank : known.rank,
      news: news || (known?.news ?? false),
    });
  };
  for (const { from, to, cc, headers, isAutomatic, news } of messages) {
    const head = headers ?? '';
    if ((isAutomatic || BULK.test(head)) && !POSTED.test(head)) continue;
    const lists = listsOf(head);
    const isList = ({ email }: Address) => lists.includes(email.toLowerCase());
    for (const address of from) if (!isList(address)) add(address, 3, news);
    const recipients = [...to, ...cc];
    if (recipients.length > MOST_RECIPIENTS) continue;
    for (const address of recipients) if (!isList(address)) add(address, 1, news);
  }
  return [...people.values()].toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

/** Splits a display name into the name fields of a contact. */
export function partsOfName(name: string): { given: string; middle: string; surname: string } {
  const bare = name.replaceAll(/\s*[([][^)\]]*[)\]]/g, '').trim() || name;
  const [surname, given, ...rest] = bare.split(',').map((part) => part.trim());
  if (surname && given && rest.length === 0) return { given, middle: '', surname };
  const words = bare.split(' ');
  const [first = '', last = ''] = [words[0], words.length > 1 ? words.at(-1) : ''];
  return { given: first, middle: words.slice(1, -1).join(' '), surname: last };
}
