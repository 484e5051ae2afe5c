import { SEPARATING, SILENT } from './html-elements.ts';

/** Longest snippet, in UTF-16 units. */
export const SNIPPET_LENGTH = 191;

/**
 * Most UTF-16 units of a body that are read for a snippet: if there is no text by then, the rest is
 * markup too.
 */
const MOST_HTML = 64 * 1024;
/** The name in a tag, cut after more characters than any name of `SEPARATING` has. */
const TAG_NAME = /<\/?([a-z][^\s/>]{0,15})/y;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  euro: '€',
  copy: '©',
  zwnj: '\u200c',
  zwj: '\u200d',
  shy: '\u00ad',
  szlig: 'ß',
  oslash: 'ø',
  Oslash: 'Ø',
  aelig: 'æ',
  AElig: 'Æ',
};
/** Accents that entity names such as `eacute` stand for. */
const MARKS: Readonly<Record<string, string>> = {
  acute: '\u0301',
  grave: '\u0300',
  circ: '\u0302',
  uml: '\u0308',
  tilde: '\u0303',
  ring: '\u030a',
  cedil: '\u0327',
};

/** `eacute` → é; `undefined` if the name has no such form. */
function accented(name: string): string | undefined {
  const mark = MARKS[name.slice(1)];
  return mark && `${name[0]}${mark}`.normalize('NFC');
}

function decodeEntity(entity: string, name: string): string {
  if (!name.startsWith('#')) return ENTITIES[name] ?? accented(name) ?? entity;
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  if (!(code > 0 && code <= 0x10ffff)) return entity;
  return String.fromCodePoint(code).toWellFormed();
}

/**
 * End of the tag that begins at `at`, including content that is not text. Reads the HTML once, so
 * that no markup can make it slow.
 */
function endOfTag(html: string, lower: string, at: number): number {
  const find = (text: string, from: number) => {
    const found = lower.indexOf(text, from);
    return found === -1 ? html.length : found + text.length;
  };
  if (lower.startsWith('<!--', at)) return find('-->', at + 4);
  const end = find('>', at);
  for (const name of SILENT) {
    const next = lower[at + name.length + 1] ?? '';
    if (lower.startsWith(`<${name}`, at) && !/[a-z0-9]/.test(next))
      return find('>', find(`</${name}`, end));
  }
  return end;
}

/** Whether the tag at `at` separates the text before it from the text after it. */
function separates(lower: string, at: number): boolean {
  TAG_NAME.lastIndex = at;
  const name = TAG_NAME.exec(lower)?.[1];
  return name !== undefined && SEPARATING.has(name);
}

/**
 * The text of HTML: tags, comments, styles and scripts removed, entities decoded, white space
 * unchanged. A space replaces the tags that separate words (`SEPARATING`). Takes time linear in the
 * length.
 * @param most most UTF-16 units of HTML to read
 * @param enough length of text after which reading stops; the result may be longer
 */
export function htmlText(html: string, most: number, enough: number): string {
  const part = html.slice(0, most);
  // Only ASCII: letters whose lower case is longer (İ) would shift all positions after them.
  const lower = part.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  let text = '';
  for (let at = 0; at < part.length && text.length < enough;) {
    const tag = part.indexOf('<', at);
    // A lone "<" is text.
    const isTag = tag !== -1 && /[a-z/!?]/.test(lower[tag + 1] ?? '');
    const end = tag === -1 ? part.length : isTag ? tag : tag + 1;
    text += part.slice(at, end);
    if (isTag) {
      at = endOfTag(part, lower, tag);
      if (separates(lower, tag)) text += ' ';
    } else {
      at = end;
    }
  }
  return text.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,8});/gi, decodeEntity);
}

/** Invisible characters that newsletters use to fill the preview of a mail program. */
const FILLING = /\u034f|[\u00ad\u200b\u2060\ufeff]/g;
/** More joiners than one. Matched before `IDLE_JOINER`, which would be slow on long runs. */
const MORE_JOINERS = /(?<=[\u200c\u200d])[\u200c\u200d]+/g;
/** A joiner next to white space. Within words and emoji a joiner has a meaning. */
const IDLE_JOINER = /(?<=^|\s)[\u200c\u200d]|[\u200c\u200d](?=\s|$)/g;

/** The beginning of the text of an HTML body, with white space collapsed. */
export function snippetOf(html: string): string {
  const collapsed = htmlText(html, MOST_HTML, MOST_HTML)
    .replace(FILLING, '')
    .replace(MORE_JOINERS, '')
    .replace(IDLE_JOINER, '')
    .replace(/\s+/g, ' ')
    .trim();
  // The cut may have left half of a surrogate pair.
  return collapsed.slice(0, SNIPPET_LENGTH).replace(/[\ud800-\udbff]$/, '');
}
