import { finished } from 'node:stream/promises';
import { RewritingStream } from 'parse5-html-rewriting-stream';

/*
 * The content of a message for the console's preview. The frame around it runs no scripts and loads
 * nothing (console-response.ts); this removes what would try. Worker threads load this file, so it
 * may contain only types that Node itself can strip.
 */

/** Elements that are shown. All others lose their tags, and those of `HIDDEN` their content too. */
const SHOWN: ReadonlySet<string> = new Set([
  'a', 'abbr', 'address', 'article', 'aside', 'b', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code', 'col',
  'colgroup', 'dd', 'del', 'details', 'dfn', 'div', 'dl', 'dt', 'em', 'figcaption', 'figure', 'font', 'footer', 'h1', 'h2',
  'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'nav', 'ol', 'p', 'pre', 'q', 's',
  'samp', 'section', 'small', 'span', 'strike', 'strong', 'style', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot',
  'th', 'thead', 'time', 'tr', 'tt', 'u', 'ul', 'var', 'wbr',
]); // prettier-ignore

const HIDDEN: ReadonlySet<string> = new Set([
  'applet', 'audio', 'canvas', 'embed', 'frameset', 'iframe', 'math', 'noembed', 'noframes', 'noscript', 'object', 'script',
  'select', 'svg', 'template', 'textarea', 'title', 'video',
]); // prettier-ignore

/** Elements without content and end tag: nothing is hidden after them. */
const VOID: ReadonlySet<string> = new Set(['embed']);

const ATTRIBUTES: ReadonlySet<string> = new Set([
  'align', 'alt', 'bgcolor', 'border', 'cellpadding', 'cellspacing', 'class', 'color', 'colspan', 'dir', 'face', 'height',
  'lang', 'rowspan', 'size', 'start', 'style', 'title', 'type', 'valign', 'width',
]); // prettier-ignore

/** Pictures that the message itself contains. */
const OWN_PICTURE = /^data:image\/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=\s]*$/;

/** UTF-16 units that are shown. */
export const MOST_SHOWN = 512 * 1024;

type StartTag = Parameters<RewritingStream['emitStartTag']>[0];
type Attribute = StartTag['attrs'][number];

/** Links lead nowhere: their address becomes the title. Pictures of other servers are left out. */
function safeAttributes({ tagName, attrs }: StartTag): Attribute[] {
  const kept = attrs.filter(({ name, prefix }) => !prefix && ATTRIBUTES.has(name));
  const valueOf = (name: string) => attrs.find((one) => one.name === name && !one.prefix)?.value;
  const href = tagName === 'a' ? valueOf('href') : undefined;
  if (href !== undefined) {
    const others = kept.filter(({ name }) => name !== 'title');
    return [...others, { name: 'title', value: href }, { name: 'class', value: 'link' }].filter(
      ({ name }, index, all) => all.findLastIndex((one) => one.name === name) === index,
    );
  }
  const src = tagName === 'img' ? valueOf('src') : undefined;
  return src !== undefined && OWN_PICTURE.test(src) ? [...kept, { name: 'src', value: src }] : kept;
}

/** Counts the open elements of one kind whose content is hidden. */
class HiddenPart {
  #name: string | null = null;
  #depth = 0;

  get isOpen(): boolean {
    return this.#name !== null;
  }

  start({ tagName, selfClosing }: StartTag): void {
    if (VOID.has(tagName) || selfClosing) return;
    if (this.#name === null) this.#name = tagName;
    if (this.#name === tagName) this.#depth += 1;
  }

  end(tagName: string): void {
    if (this.#name !== tagName) return;
    this.#depth -= 1;
    if (this.#depth === 0) this.#name = null;
  }
}

/**
 * Cleans the HTML of a message: no scripts, frames, forms, addresses or handlers remain.
 * @returns HTML without a frame; of long messages only the first part
 */
export async function safeHtml(whole: string): Promise<string> {
  const stream = new RewritingStream();
  const hidden = new HiddenPart();
  let isStyle = false;
  stream.on('doctype', () => undefined);
  stream.on('comment', () => undefined);
  stream.on('startTag', (tag) => {
    isStyle = tag.tagName === 'style';
    if (hidden.isOpen || HIDDEN.has(tag.tagName)) return hidden.start(tag);
    if (SHOWN.has(tag.tagName)) stream.emitStartTag({ ...tag, attrs: safeAttributes(tag) });
  });
  stream.on('endTag', (tag) => {
    isStyle = false;
    if (hidden.isOpen) return hidden.end(tag.tagName);
    if (SHOWN.has(tag.tagName)) stream.emitEndTag(tag);
  });
  // Rules of styles are no markup; their text cannot contain the end of the element.
  stream.on('text', (text, raw) => {
    if (hidden.isOpen) return;
    if (isStyle) stream.emitRaw(raw);
    else stream.emitText(text);
  });
  const parts: string[] = [];
  stream.on('data', (part: Buffer | string) => parts.push(String(part)));
  stream.end(whole.slice(0, MOST_SHOWN));
  await finished(stream);
  return parts.join('');
}
