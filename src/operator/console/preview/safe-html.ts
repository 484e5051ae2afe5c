import type { DefaultTreeAdapterTypes } from 'parse5';
import { whenNeeded } from '../../../platform/base/when-needed.ts';

/*
 * The content of a message for the console's preview. It is parsed as browsers parse it. The frame
 * around it runs no scripts and loads nothing (console-response.ts); this removes what would try,
 * keeps all text that a mail program might show, and tells what is left out. Worker threads load
 * this file, so it may contain only types that Node itself can strip.
 */

const parse5 = whenNeeded(
  import.meta.url,
  (require) => require('parse5') as typeof import('parse5'),
);

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.ChildNode;

/** Elements that are shown. All others lose their tags; their text stays. */
const SHOWN: ReadonlySet<string> = new Set([
  'a', 'abbr', 'address', 'article', 'aside', 'b', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code', 'col',
  'colgroup', 'dd', 'del', 'details', 'dfn', 'div', 'dl', 'dt', 'em', 'figcaption', 'figure', 'font', 'footer', 'h1', 'h2',
  'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'nav', 'ol', 'p', 'pre', 'q', 's',
  'samp', 'section', 'small', 'span', 'strike', 'strong', 'style', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot',
  'th', 'thead', 'time', 'tr', 'tt', 'u', 'ul', 'var', 'wbr',
]); // oxfmt-ignore

/** Elements that no mail program shows: their text is left out, and listed. */
const UNSEEN: ReadonlySet<string> = new Set(['script', 'template', 'title']);

/** The structure of a document, which is not worth a mention. */
const STRUCTURE: ReadonlySet<string> = new Set(['html', 'head', 'body']);

const VOID: ReadonlySet<string> = new Set(['br', 'col', 'hr', 'img', 'wbr']);

const ATTRIBUTES: ReadonlySet<string> = new Set([
  'align',
  'alt',
  'bgcolor',
  'border',
  'cellpadding',
  'cellspacing',
  'class',
  'color',
  'colspan',
  'dir',
  'face',
  'height',
  'lang',
  'rowspan',
  'size',
  'start',
  'style',
  'text',
  'title',
  'type',
  'valign',
  'width',
]);

/** Attributes of left out elements that show a text or lead somewhere. They are listed. */
const TELLING: ReadonlySet<string> = new Set([
  'action',
  'alt',
  'data',
  'formaction',
  'href',
  'label',
  'placeholder',
  'src',
  'srcdoc',
  'value',
]);

/** Pictures that the message itself contains. */
const OWN_PICTURE = /^data:image\/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=\s]*$/;

/** UTF-16 units that are shown. */
export const MOST_SHOWN = 512 * 1024;
/** UTF-16 units of each kind of left out text that are listed. */
const MOST_LISTED = 4_000;
/** Kinds of left out things that are listed; a message may invent as many elements as it likes. */
const MOST_KINDS = 50;

/** Things of one kind that are left out of the preview. */
export interface LeftOut {
  /** An element such as `<svg>`, or words such as `comment`. */
  what: string;
  count: number;
  /** Text of them that the preview does not show; its beginning if it is long. */
  text: string;
}

/** The content of a message that may be shown in a sandboxed frame. */
export interface SafeContent {
  /** Attributes of the body, each after a space. */
  bodyAttributes: string;
  /** Content of the body; of long messages only the first part. */
  html: string;
  leftOut: LeftOut[];
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

/** Collects what is left out. */
class LeftOuts {
  readonly #kinds = new Map<string, LeftOut>();

  add(what: string, text = ''): void {
    const kind = this.#kinds.get(what) ?? this.#newKind(what);
    kind.count += 1;
    const words = text.trim();
    if (words) kind.text = `${kind.text}${kind.text && '\n'}${words}`.slice(0, MOST_LISTED);
  }

  #newKind(what: string): LeftOut {
    const name = this.#kinds.size < MOST_KINDS ? what : 'other elements';
    const kind = this.#kinds.get(name) ?? { what: name, count: 0, text: '' };
    this.#kinds.set(name, kind);
    return kind;
  }

  get list(): LeftOut[] {
    return [...this.#kinds.values()];
  }
}

/** Links lead nowhere: their address becomes the title. Pictures of other servers are left out. */
function safeAttributes({ tagName, attrs }: Element, leftOut: LeftOuts): string {
  const kept = new Map<string, string>();
  for (const { name, value, prefix } of attrs)
    if (!prefix && ATTRIBUTES.has(name)) kept.set(name, value);
  const valueOf = (wanted: string) =>
    attrs.find(({ name, prefix }) => name === wanted && !prefix)?.value;
  const href = tagName === 'a' ? valueOf('href') : undefined;
  if (href !== undefined) kept.set('title', href).set('class', 'link');
  const src = tagName === 'img' ? valueOf('src') : undefined;
  if (src !== undefined && OWN_PICTURE.test(src)) kept.set('src', src);
  else if (src !== undefined) leftOut.add('remote picture', src);
  return [...kept].map(([name, value]) => ` ${name}="${escape(value)}"`).join('');
}

/** Puts nodes on a stack, so that the first one is taken first. There may be very many. */
function pushAll(stack: (Node | string)[], nodes: readonly (Node | string)[]): void {
  for (let index = nodes.length - 1; index >= 0; index -= 1) stack.push(nodes[index] ?? '');
}

const isElement = (node: Node): node is Element => 'tagName' in node;

/** All text in an element, as it is written. */
function textOf(element: Element): string {
  const parts: string[] = [];
  const open: (Node | string)[] = [element];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node === 'string') continue;
    if (node.nodeName === '#text') parts.push((node as { value: string }).value);
    else if (isElement(node)) pushAll(open, childrenOf(node));
  }
  return parts.join('');
}

const childrenOf = (element: Element): Node[] =>
  'content' in element
    ? (element as DefaultTreeAdapterTypes.Template).content.childNodes
    : element.childNodes;

const tellingOf = ({ attrs }: Element): string =>
  attrs
    .filter(({ name }) => TELLING.has(name))
    .map(({ value }) => value)
    .join('\n');

/** Writes the nodes of a document without what may not be shown. */
class Writer {
  readonly leftOut = new LeftOuts();
  readonly #parts: string[] = [];
  bodyAttributes = '';

  get html(): string {
    return this.#parts.join('');
  }

  /** Not recursive: a message may nest elements as deeply as it likes. */
  write(nodes: readonly Node[]): void {
    const open: (Node | string)[] = [];
    pushAll(open, nodes);
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (typeof node === 'string') this.#parts.push(node);
      else if (isElement(node)) pushAll(open, this.#begin(node));
      else if (node.nodeName === '#text')
        this.#parts.push(escape((node as { value: string }).value));
      else if (node.nodeName === '#comment')
        this.leftOut.add('comment', (node as { data: string }).data);
    }
  }

  /** @returns what to write next: children, and the end tag */
  #begin(element: Element): (Node | string)[] {
    const { tagName, namespaceURI } = element;
    const isHtml = namespaceURI === parse5().html.NS.HTML;
    if (!isHtml || !SHOWN.has(tagName)) return this.#leaveOut(element, isHtml);
    if (tagName === 'style') return [`<style>${textOf(element)}</style>`];
    this.#parts.push(`<${tagName}${safeAttributes(element, this.leftOut)}>`);
    return VOID.has(tagName) ? [] : element.childNodes.concat(`</${tagName}>` as never);
  }

  #leaveOut(element: Element, isHtml: boolean): Node[] {
    const { tagName } = element;
    if (isHtml && tagName === 'body') this.bodyAttributes = safeAttributes(element, this.leftOut);
    const isUnseen = UNSEEN.has(tagName) || tagName === 'style';
    const isStructure = isHtml && STRUCTURE.has(tagName);
    if (isUnseen) this.leftOut.add(`<${tagName}>`, `${textOf(element)}\n${tellingOf(element)}`);
    else if (!isStructure) this.leftOut.add(`<${tagName}>`, tellingOf(element));
    return isUnseen ? [] : element.childNodes;
  }
}

/**
 * Cleans the HTML of a message: no scripts, frames, forms, addresses or handlers remain. Text in
 * elements that are not shown stays, because mail programs and browsers differ in what they show.
 */
export function safeHtml(whole: string): SafeContent {
  // As in mail programs, no script runs, so the content of noscript is shown.
  const document = parse5().parse(whole.slice(0, MOST_SHOWN), { scriptingEnabled: false });
  const writer = new Writer();
  writer.write(document.childNodes);
  if (whole.length > MOST_SHOWN)
    writer.leftOut.add(`everything after the first ${MOST_SHOWN / 1024} thousand characters`);
  const { bodyAttributes, html, leftOut } = writer;
  return { bodyAttributes, html, leftOut: leftOut.list };
}
