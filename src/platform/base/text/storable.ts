/**
 * Text of others as PostgreSQL can store it: it takes neither NUL nor halves of surrogate pairs, and an error there
 * would cost the result it belongs to.
 * @param most UTF-16 units; the rest is cut off
 */
export function storable(text: string, most = 2_000): string {
  return text.replaceAll('\0', '').slice(0, most).toWellFormed();
}
