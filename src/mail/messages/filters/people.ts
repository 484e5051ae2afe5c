import type { Address } from '../../../platform/base/text/address.ts';

/*
 * People in the headers of a message, as filters need them: `f:`, `t:`, `c:` or `b:` (from, to, cc,
 * bcc), followed by the address in lower case. One index then finds a person in one header or in
 * any. A thread has the people of all its messages.
 */

/** Headers that filters can name. */
export const PEOPLE_HEADERS = ['from', 'to', 'cc', 'bcc'] as const;
export type PeopleHeader = (typeof PEOPLE_HEADERS)[number];

/** Longer values are not valid addresses and would not fit into the index. */
export const MAX_EMAIL_LENGTH = 320;

/** Key of a person in one header. */
export function personIn(header: PeopleHeader, email: string): string {
  return `${header.charAt(0)}:${email.trim().toLowerCase()}`;
}

/** Keys of a person in any header. */
export function personAnywhere(email: string): string[] {
  return PEOPLE_HEADERS.map((header) => personIn(header, email));
}

/** Keys of all people in a message's headers, without duplicates. */
export function peopleOf(message: Readonly<Record<PeopleHeader, readonly Address[]>>): string[] {
  const people = PEOPLE_HEADERS.flatMap((header) =>
    message[header]
      .filter(({ email }) => email.length <= MAX_EMAIL_LENGTH)
      .map(({ email }) => personIn(header, email)),
  );
  return [...new Set(people)];
}
