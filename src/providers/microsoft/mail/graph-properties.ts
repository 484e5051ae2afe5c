import { z } from 'zod';
import { MARK_HEADER } from '../../../formats/mime/message-mark.ts';

/* Properties of messages for which Graph has no names (MS-OXPROPS). */

/** Flags of a message, of which 1 is "read" and 8 "not sent yet". */
export const MESSAGE_FLAGS = 'Integer 0x0E07';
export const IN_REPLY_TO = 'String 0x1042';
export const REFERENCES = 'String 0x1039';
/** The mark of a message (PS_INTERNET_HEADERS). */
export const MARK_PROPERTY = `String {00020386-0000-0000-C000-000000000046} Name ${MARK_HEADER}`;

/** Header fields by the properties that have their values. */
const HEADERS: readonly [property: string, name: string][] = [
  [IN_REPLY_TO, 'In-Reply-To'],
  [REFERENCES, 'References'],
  [MARK_PROPERTY, MARK_HEADER],
];

/** `$expand` of the properties that `headersOfProperties` reads. */
export const EXPAND_HEADERS = `singleValueExtendedProperties($filter=${HEADERS.map(
  ([property]) => `id eq '${property}'`,
).join(' or ')})`;

export const properties = z
  .array(z.object({ id: z.string(), value: z.string().nullish() }))
  .nullish();

/** Header fields that properties of a message stand for. */
export const headersOfProperties = (
  read: z.infer<typeof properties>,
): { name: string; value: string }[] =>
  HEADERS.flatMap(([property, name]) => {
    // Servers differ in how they write the GUID.
    const one = read?.find(({ id }) => id.toLowerCase() === property.toLowerCase());
    return one?.value ? [{ name, value: one.value }] : [];
  });
