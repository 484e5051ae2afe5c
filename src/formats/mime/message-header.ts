import { readAddresses } from './reading/address-list.ts';
import { decodeWords } from './reading/encoded-words.ts';
import {
  headerEndOf,
  type HeaderField,
  headerFields,
  valueOf,
  valuesOf,
} from './reading/header-fields.ts';
import { LONGEST_HEADER } from './reading/mime-tree.ts';

/** The fields of a message's header, of which at most 1 MB is read. */
export function fieldsOfMessage(mime: Buffer): HeaderField[] {
  return headerFields(mime.subarray(0, headerEndOf(mime, 0, LONGEST_HEADER).end));
}

/** The subject in Unicode; empty if there is none. */
export function subjectOf(fields: readonly HeaderField[]): string {
  return decodeWords(valueOf(fields, 'subject'));
}

/** The addresses in To, Cc and Bcc, in lower case. */
export function recipientsOf(fields: readonly HeaderField[]): string[] {
  return ['to', 'cc', 'bcc'].flatMap((name) =>
    valuesOf(fields, name)
      .flatMap((value) => readAddresses(value))
      .map(({ address }) => address.toLowerCase()),
  );
}
