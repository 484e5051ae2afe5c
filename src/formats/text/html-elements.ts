/*
 * The one rule for spaces in the text of HTML: elements of `SEPARATING` stand apart from the text
 * around them, all others are part of it (`He<b>llo</b>` is one word). Imported by worker threads,
 * so it may contain only types that Node itself can strip.
 */

/** Elements that a browser shows as blocks, or that end a line. */
export const BLOCKS = [
  'address', 'article', 'aside', 'blockquote', 'body', 'br', 'caption', 'center', 'dd', 'details', 'dialog', 'dir', 'div',
  'dl', 'dt', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hgroup',
  'hr', 'html', 'legend', 'li', 'listing', 'main', 'menu', 'nav', 'ol', 'optgroup', 'option', 'p', 'plaintext', 'pre',
  'search', 'section', 'summary', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'ul', 'xmp',
] as const; // oxfmt-ignore

/** Elements within a line that show something other than text: it stands between the words. */
const OBJECTS = [
  'audio', 'button', 'canvas', 'embed', 'iframe', 'img', 'input', 'meter', 'object', 'progress', 'select', 'svg',
  'textarea', 'video',
] as const; // oxfmt-ignore

/** Names of elements, in lower case, that separate words. */
export const SEPARATING: ReadonlySet<string> = new Set<string>([...BLOCKS, ...OBJECTS]);

/** Elements whose content is not text. */
export const SILENT = ['style', 'script', 'head', 'title', 'template'] as const;
