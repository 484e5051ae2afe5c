import type { Address } from '../platform/base/text/address.ts';

/*
 * Who a message is about: the people an account has to do with. Pure; `contact-harvest.ts` writes them.
 */

/** What is looked at of a message. */
export interface Correspondence {
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  headers: string | null;
  /** Whether it is news, as webhooks see it. */
  news: boolean;
}

/** Somebody, as a batch of messages shows them. */
export interface Person {
  /** Lower case. */
  email: string;
  /** Empty: nobody has called them anything. */
  name: string;
  /** How good the name is, 0 (none) to 3 (a full name, by themselves). */
  rank: number;
  news: boolean;
}

/** Longer ones are no addresses of people. */
const MOST_EMAIL = 254;
const MOST_LOCAL = 64;
const MOST_NAME = 200;
/** A message to more people than this is no correspondence. */
const MOST_RECIPIENTS = 100;

const ADDRESS = /^[^\s@<>(),;:"\\]+@[^\s@<>(),;:"\\.]+\.[^\s@<>(),;:"\\]+$/;

/** Local parts of machines: those that take no mail, those that report, those that run lists, those made for one message. */
const MACHINES = [
  /(?:^|[-_.+])(?:no|do[-_.]?not|dont)[-_.]?reply(?:$|[-_.+\d])/,
  /^(?:mailer-daemon|postmaster|bounces?|abuse|hostmaster|listserv|majordomo|daemon)(?:$|[-_.+])/,
  /^(?:notifications?|notify|alerts?|news|newsletters?|mailings?|automated|unsubscribe)(?:$|[-_.+])/,
  /(?:^owner-|-(?:owner|request|bounces?|subscribe|unsubscribe|confirm|join|leave)$)/,
  /[\da-f]{20}|^(?:reply|bounce|unsub)[-_+.][^@]{12}|^[rb][-_+.](?=[^@]*\d)[^@]{12}/,
];

/** Lists name themselves (RFC 2369, RFC 2919). */
const LIST = /^list-(?:post|id):/im;
const LIST_POST = /^list-post:\s*<mailto:([^>?\s]+)/im;
const LIST_ID = /^list-id:[^<\r\n]*(?:\r?\n[ \t][^<\r\n]*)?<([^>\s]+)>/im;
/** What a machine has sent to many (RFC 2369, RFC 3834). */
const BULK = /^(?:list-unsubscribe:|auto-submitted:[ \t]*auto|precedence:[ \t]*(?:bulk|junk))/im;
const POSTED = /^list-post:\s*</im;

/** The addresses of the list a message came by. */
function listsOf(headers: string): string[] {
  if (!LIST.test(headers)) return [];
  const id = LIST_ID.exec(headers)?.[1]?.toLowerCase() ?? '';
  const [name, ...domain] = id.split('.');
  // team.lists.example.org is team@lists.example.org, or team@example.org.
  const named = [domain.join('.'), domain.slice(1).join('.')].map((host) => `${name}@${host}`);
  return [LIST_POST.exec(headers)?.[1]?.toLowerCase() ?? '', ...named];
}

/** Whether mail to this address reaches a person, as far as the address tells. @param email lower case */
export function isPersonal(email: string): boolean {
  const local = email.slice(0, email.lastIndexOf('@'));
  return (
    email.length <= MOST_EMAIL &&
    local.length <= MOST_LOCAL &&
    ADDRESS.test(email) &&
    !MACHINES.some((machine) => machine.test(local))
  );
}

/** A display name as it is worth keeping; empty: it says nothing about the person. */
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
 * The people of a batch of messages, each once, by the order of their addresses.
 * @param own the account's address, lower case: it is nobody's contact
 */
export function peopleOf(messages: readonly Correspondence[], own: string): Person[] {
  const people = new Map<string, Person>();
  const meet = (address: Address, best: number, news: boolean) => {
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
  for (const { from, to, cc, headers, news } of messages) {
    const head = headers ?? '';
    if (BULK.test(head) && !POSTED.test(head)) continue;
    const lists = listsOf(head);
    const isList = ({ email }: Address) => lists.includes(email.toLowerCase());
    for (const address of from) if (!isList(address)) meet(address, 3, news);
    const recipients = [...to, ...cc];
    if (recipients.length > MOST_RECIPIENTS) continue;
    for (const address of recipients) if (!isList(address)) meet(address, 1, news);
  }
  return [...people.values()].toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

/** The parts of a display name, as contacts have them. */
export function partsOfName(name: string): { given: string; middle: string; surname: string } {
  const bare = name.replaceAll(/\s*[([][^)\]]*[)\]]/g, '').trim() || name;
  const [surname, given, ...rest] = bare.split(',').map((part) => part.trim());
  if (surname && given && rest.length === 0) return { given, middle: '', surname };
  const words = bare.split(' ');
  const [first = '', last = ''] = [words[0], words.length > 1 ? words.at(-1) : ''];
  return { given: first, middle: words.slice(1, -1).join(' '), surname: last };
}
