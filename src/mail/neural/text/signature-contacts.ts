import { type CountryCode, findPhoneNumbersInText, isSupportedCountry } from 'libphonenumber-js';
import { isClosing } from './closing-phrases.ts';
import { isJobTitle } from './signature-lines.ts';

/** Contact data in a signature. */
export interface SignatureContacts {
  jobTitles: string[];
  /** `description` is the text of the link. */
  links: { description: string; url: string }[];
  /** In E.164 format. */
  phoneNumbers: string[];
  emails: string[];
  names: { firstName: string; lastName: string }[];
}

const MOST_CHARACTERS = 4000;
const MOST_EACH = 10;
const EMAIL = /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,5}\p{L}{2,24}/gu;
const MARKDOWN_LINK = /\[([^\]\n]{0,200})\]\((https?:\/\/[^)\s]{1,2000})\)/g;
const ADDRESS = /(?:https?:\/\/|www\.)[^\s<>()[\]"']{3,500}/gi;
const NAME =
  /^\p{Lu}[\p{L}'’.-]{0,30}(?: (?:\p{Lu}[\p{L}'’.-]{0,30}|de|da|di|van|von|der|den|la|le|al|bin)){1,4}$/u;
const HONOURS = /^(?:mr|mrs|ms|dr|prof|herr|frau|sir)\.?\s/i;

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)].slice(0, MOST_EACH);

/**
 * Finds people, job titles and contact data.
 * @param signature with links as Markdown
 * @param from sender of the message. Phone numbers without a country code are read as numbers of
 *   the country in which the address ends, or else of the United States. The name is recognised in
 *   the signature.
 */
export function contactsOf(
  signature: string,
  from: { name: string; email: string },
): SignatureContacts {
  const text = signature.slice(0, MOST_CHARACTERS);
  const links = linksOf(text);
  const plain = text.replaceAll(MARKDOWN_LINK, '$1');
  const lines = plain
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  return {
    jobTitles: distinct(lines.flatMap((line) => titlesOf(line))),
    links,
    phoneNumbers: phoneNumbersOf(plain, from.email),
    emails: distinct((plain.match(EMAIL) ?? []).map((email) => email.toLowerCase())),
    names: namesOf(lines, from.name),
  };
}

function linksOf(text: string): SignatureContacts['links'] {
  const found = new Map<string, string>();
  for (const [, description = '', url = ''] of text.matchAll(MARKDOWN_LINK))
    if (!found.has(url)) found.set(url, description.trim());
  for (const [match] of text.replaceAll(MARKDOWN_LINK, ' ').matchAll(ADDRESS)) {
    const shown = match.replace(/[.,;:!?]+$/, '');
    const url = shown.toLowerCase().startsWith('www.') ? `https://${shown}` : shown;
    if (URL.canParse(url) && !found.has(url)) found.set(url, shown);
  }
  return [...found].slice(0, MOST_EACH).map(([url, description]) => ({ description, url }));
}

/**
 * Splits lines such as "Ada Byron, Head of Sales" and "Head of Sales | Acme" into parts, and keeps
 * the titles.
 */
function titlesOf(line: string): string[] {
  if (!isJobTitle(line)) return [];
  const parts = line.split(/\s*[|•·]\s*|,\s+|\s[–—-]\s/).filter((part) => isJobTitle(part));
  return parts.map((part) => part.trim());
}

function phoneNumbersOf(text: string, email: string): string[] {
  const found = findPhoneNumbersInText(text, { defaultCountry: countryOf(email) });
  return distinct(found.map(({ number }) => number.number));
}

/** Country of the address's top-level domain; US if that is not a country. */
function countryOf(email: string): CountryCode {
  const ending = (email.split('.').at(-1) ?? '').toUpperCase();
  const country = ending === 'UK' ? 'GB' : ending;
  // These top-level domains are sold worldwide, so they say nothing about the country.
  return isSupportedCountry(country) && !['CO', 'IO', 'ME', 'TV', 'AI', 'CC'].includes(country)
    ? country
    : 'US';
}

function namesOf(lines: readonly string[], fromName: string): SignatureContacts['names'] {
  const name = fromName.trim().replaceAll(/\s+/g, ' ');
  const known =
    name.includes(' ') && lines.some((line) => line.toLowerCase().includes(name.toLowerCase()));
  if (known && NAME.test(name.replace(HONOURS, ''))) return [split(name)];
  for (const line of lines.slice(0, 3)) {
    const candidate = (line.split(/,|\||•|·|\s[–—-]\s/, 1)[0] ?? '').trim().replace(HONOURS, '');
    if (NAME.test(candidate) && !isClosing(candidate) && !isJobTitle(candidate))
      return [split(candidate)];
  }
  return [];
}

function split(name: string): { firstName: string; lastName: string } {
  const [firstName = '', ...rest] = name.replace(HONOURS, '').split(' ');
  return { firstName, lastName: rest.join(' ') };
}
