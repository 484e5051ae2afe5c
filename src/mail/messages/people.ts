import type { Address } from '../../platform/base/text/address.ts';

/*
 * Who is in which header of a message, as lists are filtered by it: `f:`, `t:`, `c:` or `b:` (from, to, cc, bcc) and the
 * address in lower case. One index then finds somebody in one header, or in any; a conversation has those of all its
 * messages.
 */

/** Headers that can be asked for. */
export const PEOPLE_HEADERS = ['from', 'to', 'cc', 'bcc'] as const;
export type PeopleHeader = (typeof PEOPLE_HEADERS)[number];

/** Longer ones are no addresses, and would not fit the index. */
export const MAX_EMAIL_LENGTH = 320;

/** Somebody in a header. */
export function personIn(header: PeopleHeader, email: string): string {
  return `${header.charAt(0)}:${email.trim().toLowerCase()}`;
}

/** Somebody, whatever the header. */
export function personAnywhere(email: string): string[] {
  return PEOPLE_HEADERS.map((header) => personIn(header, email));
}

/** Everybody in a message's headers, each once. */
export function peopleOf(message: Readonly<Record<PeopleHeader, readonly Address[]>>): string[] {
  const people = PEOPLE_HEADERS.flatMap((header) =>
    message[header]
      .filter(({ email }) => email.length <= MAX_EMAIL_LENGTH)
      .map(({ email }) => personIn(header, email)),
  );
  return [...new Set(people)];
}
