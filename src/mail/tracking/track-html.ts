import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { RewritingStream } from 'parse5-html-rewriting-stream';

/** What is put into the HTML of a message. */
export interface HtmlMarks {
  /** Address of the image that tells of an opening; null: none. */
  pixel: string | null;
  /** The address that stands for a link, by its position among the different ones; null: links stay as they are. */
  link: ((url: string, index: number) => string) | null;
}

/** HTML with its marks, and the addresses that were replaced, each once. */
export interface MarkedHtml {
  html: string;
  urls: string[];
}

/** Different addresses that are replaced in a message; further ones stay as they are. */
export const MOST_LINKS = 200;
/** Links that are replaced in a message, however often an address comes: each makes the message longer. */
export const MOST_PLACES = 2_000;
/** UTF-16 units; a longer address stays as it is: with what is added to it some mail programs would cut it. */
export const LONGEST_URL = 1_400;
/** UTF-16 units that are looked at; what follows stays as it is. */
export const MOST_HTML = 1024 * 1024;
/**
 * Drawings and formulas that are looked at, with what follows up to the next one: the parser's time grows with the square of
 * how deep they are in each other.
 */
export const MOST_FOREIGN = 1_000;
const FOREIGN = /<(?:svg|math)/gi;
/** UTF-16 units that the parser is given at a time. */
const AT_ONCE = 64 * 1024;
const LINK_TAGS = ['a', 'area'];
/** Elements whose content is no markup: nothing is shown of an image in them. */
const PLAIN_CONTENT = [
  'iframe', 'noembed', 'noframes', 'noscript', 'plaintext', 'script', 'select', 'style', 'template', 'textarea', 'title', 'xmp',
]; // prettier-ignore

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
  /** The image that will be put in, because what stands around it decides where it is shown; null: none. */
  pixel: string | null;
  links: boolean;
}

/** An address in HTML: its attribute, and its position in `FoundMarks.urls`. */
interface FoundLink {
  from: number;
  to: number;
  url: number;
}

/** Where marks belong. */
export interface FoundMarks {
  links: FoundLink[];
  /** Different addresses, in their order. */
  urls: string[];
  /** Where the image belongs. */
  pixelAt: number;
}

/**
 * Puts marks into HTML. Everything else stays as it is, to the character: the parser says where things are, and only there the
 * text is replaced. Text without any markup is HTML too: the image comes at its end.
 * @param find looks for the places; default: here. Long HTML is looked at in a thread.
 */
export async function markHtml(
  whole: string,
  marks: HtmlMarks,
  find: (wanted: MarksWanted) => Promise<FoundMarks> = findMarks,
): Promise<MarkedHtml> {
  const html = whole.slice(0, lookedAt(whole));
  const pixel = marks.pixel === null ? null : pixelTag(marks.pixel);
  const found = await find({ html, pixel, links: marks.link !== null });
  const pieces = found.links.map(({ from, to, url }): Piece => {
    const address = marks.link?.(found.urls[url] ?? '', url) ?? '';
    return { from, to, text: withValue(html.slice(from, to), address) };
  });
  if (pixel !== null) pieces.push({ from: found.pixelAt, to: found.pixelAt, text: pixel });
  return { html: replaced(html, pieces) + whole.slice(html.length), urls: found.urls };
}

/** Finds where marks belong. Threads call this too: Node loads this file as it is. */
export async function findMarks({
  html,
  pixel,
  links: isWanted,
}: MarksWanted): Promise<FoundMarks> {
  const links = new Links();
  const place = new PixelPlace(html.length);
  await parse(html, pixel, {
    startTag: (tag) => {
      const { from, to } = offsetsOf(tag);
      // One without an end has swallowed the image behind it: it is no tag, and stays as it is.
      if (from < html.length && to > html.length) return;
      if (isWanted && LINK_TAGS.includes(tag.tagName)) links.look(tag);
      place.startTag(tag.tagName, from, to);
    },
    endTag: (name, from) => place.endTag(name, from),
    comment: (from) => place.comment(from),
  });
  return { links: links.found, urls: links.urls, pixelAt: place.found };
}

/** How much of the text is looked at, so that the time it takes has a bound. */
function lookedAt(html: string): number {
  let count = 0;
  for (const { index } of html.slice(0, MOST_HTML).matchAll(FOREIGN)) {
    count += 1;
    if (count > MOST_FOREIGN) return index;
  }
  return Math.min(html.length, MOST_HTML);
}

/** The image of an opening, as it stands in HTML. */
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

/** Parses the text and, behind it, the image: whether it is seen there tells whether anything may be put there. */
async function parse(html: string, pixel: string | null, handlers: Handlers): Promise<void> {
  const stream = new RewritingStream();
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

  look({ attrs, sourceCodeLocation }: StartTag): void {
    const value = attrs.find(({ name, prefix }) => name === 'href' && !prefix)?.value;
    // The library's types leave out that start tags have it.
    const { attrs: places } = (sourceCodeLocation ?? {}) as { attrs?: Record<string, Offsets> };
    const at = places?.['href'];
    if (value === undefined || !at || this.found.length >= MOST_PLACES) return;
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

/** The address of a link that leads to the web; null: it is none, or too long. */
function trackableUrl(value: string): string | null {
  // Browsers leave out the same (WHATWG URL).
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

/** Finds where an image is shown: before the end of the body, or else at the very end, or as near to it as can be. */
class PixelPlace {
  #body: number | null = null;
  #seen = false;
  #lastTag = 0;
  #lastComment: number | null = null;
  /** Open elements whose content is not shown as markup, the outermost first. */
  readonly #plain: { name: string; from: number }[] = [];
  /** How many of them have a name: looking for one that is not there would take as long as there are others. */
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
    // A comment or a tag has no end: whatever follows is part of it.
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
