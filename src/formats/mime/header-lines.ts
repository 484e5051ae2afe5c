/** RFC 5322 section 2.1.1, without the line end. Octets. */
const MOST_LINE = 998;
/** RFC 2047 section 2: an encoded word has at most 75 characters. */
const MOST_ENCODED = 75 - '=?UTF-8?Q??='.length;
/** A word of a display name that is long enough to be encoded. Characters. */
const LONG_WORD = 500;
const UNSTRUCTURED = /^(?:subject|comments|x-[\w-]+)$/i;
const WITH_NAMES = /^(?:from|sender|reply-to|to|cc|bcc)$/i;
const NAME = new RegExp(`"(?:[^"\\\\]|\\\\.){${LONG_WORD},}"|[\\w']{${LONG_WORD},}(?=\\s)`, 'g');

/**
 * Encodes header lines that are too long and cannot be folded, because they contain no space: RFC
 * 2047 splits such a text into encoded words.
 * @param mime a message whose headers are ASCII
 * @returns `mime` itself if every line fits
 */
export function withShortHeaderLines(mime: Buffer): Buffer {
  const end = mime.indexOf('\r\n\r\n');
  const head = mime.toString('latin1', 0, end < 0 ? mime.length : end);
  if (head.split('\r\n').every(({ length }) => length <= MOST_LINE)) return mime;
  const fields = head.split(/\r\n(?![ \t])/).map(withShortLines);
  const rest = end < 0 ? Buffer.alloc(0) : mime.subarray(end);
  return Buffer.concat([Buffer.from(fields.join('\r\n'), 'latin1'), rest]);
}

function withShortLines(field: string): string {
  if (field.split('\r\n').every(({ length }) => length <= MOST_LINE)) return field;
  const colon = field.indexOf(':');
  const [name, value] = [field.slice(0, colon), field.slice(colon + 1)];
  if (UNSTRUCTURED.test(name))
    return `${name}: ${encoded(value.replace(/\r\n(?=[ \t])/g, '').trim())}`;
  if (!WITH_NAMES.test(name)) return field;
  const short = value.replace(NAME, (text) =>
    encoded(text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text),
  );
  return `${name}:${short}`;
}

/** Encoded words (RFC 2047 section 4.2), one a line. Readers join them without a space. */
function encoded(text: string): string {
  const words: string[] = [];
  let word = '';
  for (const sign of text) {
    const safe = /[A-Za-z0-9]/.test(sign)
      ? sign
      : `=${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    if (word.length + safe.length > MOST_ENCODED) {
      words.push(word);
      word = '';
    }
    word += safe;
  }
  return [...words, word].map((each) => `=?UTF-8?Q?${each}?=`).join('\r\n ');
}
