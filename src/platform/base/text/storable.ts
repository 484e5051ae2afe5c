/**
 * Turns untrusted text into text that PostgreSQL can store. PostgreSQL refuses NUL and unpaired
 * surrogates, and such an error would lose the result that the text belongs to.
 * @param most maximum length in UTF-16 units; the rest is cut off
 */
export function storable(text: string, most = 2_000): string {
  return text.replaceAll('\0', '').slice(0, most).toWellFormed();
}
