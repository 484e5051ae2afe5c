import { z } from 'zod';

/*
 * What Graph has no property for: Carillon keeps it in a named extended property of the calendar or
 * contact (https://learn.microsoft.com/graph/api/resources/extended-properties-overview).
 */

const SET = '{5c6b1c3e-6d1f-4f0e-9a5c-0c8f3b7e2d41}';
/** The key with which Carillon created an item. */
export const KEY = `String ${SET} Name CarillonKey`;
/** JSON with the fields that Graph lacks. */
export const EXTRA = `String ${SET} Name CarillonExtra`;

/** Whether a contact has a picture: Graph has no such property (MS-OXOCNTC, PidLidHasPicture). */
const HAS_PICTURE = 'Boolean {00062004-0000-0000-C000-000000000046} Id 0x8015';

export const extended = z
  .array(z.object({ id: z.string(), value: z.string().nullish() }))
  .nullish();
type Extended = z.infer<typeof extended>;

const expand = (names: readonly string[]): string =>
  `singleValueExtendedProperties($filter=${names.map((name) => `id eq '${name}'`).join(' or ')})`;
/** `$expand` of both properties. */
export const EXPAND_EXTENSION = expand([KEY, EXTRA]);
/** `$expand` of both properties of a contact, and of the one for `hasPicture`. */
export const EXPAND_CONTACT = expand([KEY, EXTRA, HAS_PICTURE]);

/** `$filter` of the items with a key. */
export const withKey = (key: string): string =>
  `singleValueExtendedProperties/Any(ep: ep/id eq '${KEY}' and ep/value eq '${key.replaceAll("'", "''")}')`;

/** The properties to write. A key is written once, with the new item. */
export function writeExtension(extra: unknown, key?: string) {
  const value = JSON.stringify(extra);
  return {
    singleValueExtendedProperties: [
      { id: EXTRA, value },
      ...(key === undefined ? [] : [{ id: KEY, value: key }]),
    ],
  };
}

const find = (properties: Extended, name: string): string | null =>
  // Servers differ in how they write the GUID.
  (properties ?? []).find(({ id }) => id.toLowerCase() === name.toLowerCase())?.value ?? null;

/** The key with which Carillon created an item; `null` if somebody else did. */
export const keyOf = (properties: Extended): string | null => find(properties, KEY);

/** Whether a contact has a picture. */
export const hasPicture = (properties: Extended): boolean =>
  find(properties, HAS_PICTURE)?.toLowerCase() === 'true';

/** The fields that Graph lacks; empty if they cannot be read. */
export function extraOf<T>(properties: Extended, shape: z.ZodType<T>, empty: T): T {
  try {
    return shape.safeParse(JSON.parse(find(properties, EXTRA) ?? 'null')).data ?? empty;
  } catch (error) {
    if (error instanceof SyntaxError) return empty;
    throw error;
  }
}
