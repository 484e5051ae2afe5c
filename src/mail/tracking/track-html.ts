import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { RewritingStream } from 'parse5-html-rewriting-stream';
import { whenNeeded } from '../../platform/base/when-needed.ts';

const parse5 = whenNeeded(
  import.meta.url,
  (require) =>
    require('parse5-html-rewriting-stream') as typeof import('parse5-html-rewriting-stream'),
);

/** Marks to be put into the HTML of a message. */
export interface HtmlMarks {
  /** Address of the image that reports an opening; `null` for no image. */
  pixel: string | null;
  /**
   * Makes the address that replaces a link; `index` is its position among the different addresses.
   * `null`: links stay unchanged.
   */
  link: ((url: string, index: number) => string) | null;
}

/** HTML with its marks, and the addresses that were replaced, without duplicates. */
export interface MarkedHtml {
  html: string;
  urls: string[];
}

/** Different addresses that are replaced in a message; further ones stay unchanged. */
export const MOST_LINKS = 200;
/**
 * Links that are replaced in a message, counting repeated addresses: each makes the message longer.
 */
export const MOST_REPLACEMENTS = 2_000;
/**
 * UTF-16 units. A longer address stays unchanged: some mail programs would cut it once our part is
 * added.
 */
export const LONGEST_URL = 1_400;
/** UTF-16 units that are parsed; the rest stays unchanged. */
export const MOST_HTML = 1024 * 1024;
/**
 * SVG and MathML elements that are parsed. From the next one on, the text stays unchanged: the
 * parser's time grows with the square of their nesting depth.
 */
export const MOST_FOREIGN = 1_000;
const FOREIGN = /<(?:svg|math)/gi;
/** UTF-16 units given to the parser at a time. */
const AT_ONCE = 64 * 1024;
const LINK_TAGS = ['a', 'area'];
/** Elements whose content is not markup: an image in them is not shown. */
const PLAIN_CONTENT = [
  'iframe',
  'noembed',
  'noframes',
  'noscript',
  'plaintext',
  'script',
  'select',
  'style',
  'template',
  'textarea',
  'title',
  'xmp',
];

interface Piece {
  from: number;
  to: number;
  text: string;
}

interface Offsets {
  startOffset: number;
  endOffset: number;
}

type StartTag = Parameters<RewritingStream['emitStartTag']>[0];

export interface MarksWanted {
  html: string;
  /**
   * The image to be added, because the text around it decides whether it is shown; `null` for no
   * image.
   */
  pixel: string | null;
  links: boolean;
}

/** An address in HTML: the position of its attribute, and its index in `FoundMarks.urls`. */
interface FoundLink {
  from: number;
  to: number;
  url: number;
}

/** Positions of the marks. */
export interface FoundMarks {
  links: FoundLink[];
  /** Different addresses, in order of appearance. */
  urls: string[];
  /** Position of the image. */
  pixelAt: number;
}

/**
 * Puts marks into HTML. All other text stays unchanged, to the character: the parser reports
 * positions, and only there the text is replaced. Text without markup counts as HTML, with the
 * image at its end.
 * @param find finds the positions; by default in this thread. Long HTML is parsed in a worker
 *   thread.
 */
export async function markHtml(
  whole: string,
  marks: HtmlMarks,
  find: (wanted: MarksWanted) => Promise<FoundMarks> = findMarks,
): Promise<MarkedHtml> {
  const html = whole.slice(0, parsedLength(whole));
  const pixel = marks.pixel === null ? null : pixelTag(marks.pixel);
  const found = await find({ html, pixel, links: marks.link !== null });
  const pieces = found.links.map(({ from, to, url }): Piece => {
    const address = marks.link?.(found.urls[url] ?? '', url) ?? '';
    return { from, to, text: withValue(html.slice(from, to), address) };
  });
  if (pixel !== null) pieces.push({ from: found.pixelAt, to: found.pixelAt, text: pixel });
  return { html: replaced(html, pieces) + whole.slice(html.length), urls: found.urls };
}

/** Finds the positions of marks. Worker threads call it as well; Node loads this file directly. */
export async function findMarks({
  html,
  pixel,
  links: isWanted,
}: MarksWanted): Promise<FoundMarks> {
  const links = new Links();
  const position = new PixelPosition(html.length);
  await parse(html, pixel, {
    startTag: (tag) => {
      const { from, to } = offsetsOf(tag);
      // A tag without an end at the end of the text includes the image behind it. It is not a
      // complete tag, so it stays unchanged.
      if (from < html.length && to > html.length) return;
      if (isWanted && LINK_TAGS.includes(tag.tagName)) links.add(tag);
      position.startTag(tag.tagName, from, to);
    },
    endTag: (name, from) => position.endTag(name, from),
    comment: (from) => position.comment(from),
  });
  return { links: links.found, urls: links.urls, pixelAt: position.found };
}

/** How much of the text is parsed, so that the time is bounded. */
function parsedLength(html: string): number {
  let count = 0;
  for (const { index } of html.slice(0, MOST_HTML).matchAll(FOREIGN)) {
    count += 1;
    if (count > MOST_FOREIGN) return index;
  }
  return Math.min(html.length, MOST_HTML);
}

/** The image that reports an opening, as HTML. */
export function pixelTag(address: string): string {
  return `<img src="${escaped(address)}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;
}

const offsetsOf = ({ sourceCodeLocation }: Pick<StartTag, 'sourceCodeLocation'>) => ({
  from: sourceCodeLocation?.startOffset ?? 0,
  to: sourceCodeLocation?.endOffset ?? 0,
});

interface Handlers {
  startTag(tag: StartTag): void;
  endTag(name: string, from: number): void;
  comment(from: number): void;
}

/**
 * Parses the text with the image behind it. If the parser reports the image, an image at the end of
 * the text is shown.
 */
async function parse(html: string, pixel: string | null, handlers: Handlers): Promise<void> {
  const stream = new (parse5().RewritingStream)();
  stream.on('startTag', (tag) => handlers.startTag(tag));
  stream.on('endTag', (tag) => handlers.endTag(tag.tagName, offsetsOf(tag).from));
  stream.on('comment', (tag) => handlers.comment(offsetsOf(tag).from));
  for (let from = 0; from < html.length; from += AT_ONCE) {
    if (!stream.write(html.slice(from, from + AT_ONCE))) await once(stream, 'drain');
  }
  stream.end(pixel ?? '');
  await finished(stream);
}

/** Collects the links of a text. */
class Links {
  readonly found: FoundLink[] = [];
  readonly #known = new Map<string, number>();

  get urls(): string[] {
    return [...this.#known.keys()];
  }

  add({ attrs, sourceCodeLocation }: StartTag): void {
    const value = attrs.find(({ name, prefix }) => name === 'href' && !prefix)?.value;
    // The library's types do not say that the location of a start tag has `attrs`.
    const { attrs: attributes } = (sourceCodeLocation ?? {}) as { attrs?: Record<string, Offsets> };
    const at = attributes?.['href'];
    if (value === undefined || !at || this.found.length >= MOST_REPLACEMENTS) return;
    const address = trackableUrl(value);
    const url = address === null ? undefined : this.#indexOf(address);
    if (url !== undefined) this.found.push({ from: at.startOffset, to: at.endOffset, url });
  }

  #indexOf(url: string): number | undefined {
    const known = this.#known.get(url);
    if (known !== undefined || this.#known.size >= MOST_LINKS) return known;
    this.#known.set(url, this.#known.size);
    return this.#known.size - 1;
  }
}

/** The address of a link to the web. `null` if the value is no such address, or too long. */
function trackableUrl(value: string): string | null {
  // Browsers remove the same characters (WHATWG URL).
  const url = value.replace(/[\t\n\r]/g, '').trim();
  if (url.length > LONGEST_URL || !/^https?:/i.test(url) || !URL.canParse(url)) return null;
  return url.toWellFormed();
}

function withValue(attribute: string, value: string): string {
  const [, name = '', quote = ''] = /^([^=]*=\s*)(["']?)/.exec(attribute) ?? [];
  return `${name}${quote || '"'}${escaped(value)}${quote || '"'}`;
}

function escaped(address: string): string {
  return address.replaceAll('&', '&amp;').replaceAll('"', '%22').replaceAll("'", '%27');
}

/**
 * Finds a position where an image is shown: before the end of the body, or at the end of the text.
 * If neither is possible, as near to the end as possible.
 */
class PixelPosition {
  #body: number | null = null;
  #seen = false;
  #lastTag = 0;
  #lastComment: number | null = null;
  /** Open elements whose content is not markup, the outermost first. */
  readonly #plain: { name: string; from: number }[] = [];
  /**
   * Number of open elements by name. Without it, an end tag of an element that is not open would
   * cost a search through all open ones.
   */
  readonly #count = new Map<string, number>();
  private readonly length: number;

  constructor(length: number) {
    this.length = length;
  }

  startTag(name: string, from: number, to: number): void {
    if (from >= this.length) {
      this.#seen ||= name === 'img' && from === this.length;
      return;
    }
    this.#lastTag = to;
    if (!PLAIN_CONTENT.includes(name)) return;
    this.#plain.push({ name, from });
    this.#count.set(name, (this.#count.get(name) ?? 0) + 1);
  }

  endTag(name: string, from: number): void {
    if (from >= this.length) return;
    for (let isOpen = this.#has(name); isOpen;) {
      const closed = this.#plain.pop()?.name ?? name;
      this.#count.set(closed, (this.#count.get(closed) ?? 1) - 1);
      isOpen = closed !== name;
    }
    if (name === 'body' && this.#plain.length === 0) this.#body ??= from;
  }

  comment(from: number): void {
    this.#lastComment = from;
  }

  #has(name: string): boolean {
    return (this.#count.get(name) ?? 0) > 0;
  }

  get found(): number {
    if (this.#body !== null) return this.#body;
    const [plain] = this.#plain;
    if (plain) return plain.from;
    if (this.#seen) return this.length;
    // The text ends with a comment or tag that has no end. The image goes in front of it.
    return Math.max(this.#lastComment ?? 0, this.#lastTag);
  }
}

function replaced(html: string, pieces: readonly Piece[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, text } of pieces.toSorted((a, b) => a.from - b.from)) {
    parts.push(html.slice(at, from), text);
    at = to;
  }
  return [...parts, html.slice(at)].join('');
}
