import sax, { type SaxParser } from 'sax';

/*
 * Runs in worker threads (`readDavAnswer`). Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/**
 * An element. Its children are stored under their local names in camel case (`calendar-data` is
 * `calendarData`), several with the same name as a list. `_text` is its text. Of its attributes
 * only `name` is kept, in `_attributes`.
 */
export type DavNode = { [name: string]: unknown };

export interface DavResource {
  /** As written by the server. Empty if there is none. */
  href: string;
  /** HTTP status of the resource, or of the whole response if the resource has none. */
  status: number;
  ok: boolean;
  /**
   * Properties that the server returned, without the refused ones. Empty if the response is not a
   * multistatus.
   */
  props: Readonly<Record<string, unknown>>;
}

export interface DavAnswer {
  /**
   * In the server's order. A response that is not a multistatus gives one resource without
   * properties.
   */
  resources: DavResource[];
  /** The `sync-token` (RFC 6578), or `null`. */
  token: string | null;
  /** Whether the response contains a 4xx or 5xx status anywhere. */
  hasRefusals: boolean;
}

/** URL, status and content type of the HTTP response around the XML. */
export interface DavHead {
  url: string;
  status: number;
  contentType: string;
}

/** The XML is not well-formed, or exceeds a limit. */
export class DavXmlError extends Error {
  override name = 'DavXmlError';
}

const DEEPEST = 32;
const LONGEST_NAME = 200;
const MOST_ELEMENTS = 2_000_000;
const MOST_RESOURCES = 200_000;
/** Limit for elements of one resource. Privileges, components and reports are some dozens. */
const MOST_ELEMENTS_OF_ONE = 10_000;
/**
 * The parser gets the text in pieces of this many characters, so that it never holds a second copy
 * of all of it.
 */
const PIECE = 256 * 1024;

const REFUSAL = /^HTTP\/\d\S* [45]\d\d\b/i;
const STATUS = /^\S+\s+(\d{3})\b/;

/**
 * Reads the XML of a response as a stream. Documents with a DTD are refused, so only XML's five
 * predefined entities are expanded. Time and memory grow in proportion to the text.
 * @throws {DavXmlError}
 */
export function readDavXml({ text, head }: { text: string; head: DavHead }): DavAnswer {
  const { url, status, contentType } = head;
  const itself = { href: url, status, ok: status >= 200 && status < 300, props: {} };
  if (text === '' || !contentType.toLowerCase().includes('xml'))
    return { resources: [itself], token: null, hasRefusals: false };
  const reader = new DavReader(status);
  try {
    reader.read(text);
  } catch (error) {
    if (error instanceof DavXmlError) throw error;
    throw new DavXmlError('it is not well-formed', { cause: error });
  }
  const { resources, token, hasRefusals, isMultistatus } = reader;
  return { resources: isMultistatus ? resources : [itself], token, hasRefusals };
}

const camelCase = (name: string): string =>
  name
    .slice(name.lastIndexOf(':') + 1)
    .replaceAll(/[-_]+(\w?)/g, (_, letter: string) => letter.toUpperCase());

interface Open {
  name: string;
  node: DavNode;
  text: string[];
}

class DavReader {
  readonly resources: DavResource[] = [];
  token: string | null = null;
  hasRefusals = false;
  isMultistatus = false;
  readonly #status: number;
  readonly #sax: SaxParser;
  readonly #open: Open[] = [];
  #elements = 0;
  #elementsOfOne = 0;

  constructor(status: number) {
    this.#status = status;
    this.#sax = sax.parser(true, { strictEntities: true });
    const add = (text: string) => this.#open.at(-1)?.text.push(text);
    Object.assign(this.#sax, {
      onerror: (error) => {
        throw error;
      },
      ondoctype: () => {
        throw new DavXmlError('it has a DTD');
      },
      onopentag: ({ name, attributes }) => this.#begin(name, attributes),
      onclosetag: () => this.#end(),
      ontext: add,
      oncdata: add,
    } satisfies Partial<SaxParser>);
  }

  read(text: string): void {
    const start = text.startsWith('\uFEFF') ? 1 : 0;
    for (let at = start; at < text.length; at += PIECE) this.#sax.write(text.slice(at, at + PIECE));
    this.#sax.close();
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name.length > LONGEST_NAME) throw new DavXmlError('it has an element with too long a name');
    if (this.#open.length >= DEEPEST) throw new DavXmlError('its elements are nested too deeply');
    if (++this.#elements > MOST_ELEMENTS) throw new DavXmlError('it has too many elements');
    const depth = this.#open.length;
    const local = camelCase(name);
    if (depth === 0) this.isMultistatus = local === 'multistatus';
    if (depth === 1) this.#elementsOfOne = 0;
    if (++this.#elementsOfOne > MOST_ELEMENTS_OF_ONE)
      throw new DavXmlError('it has a resource with too many elements');
    // Names come from the server: with this object `__proto__` is an ordinary name.
    const node = Object.create(null) as DavNode;
    const { name: named } = attributes;
    if (named !== undefined) node['_attributes'] = { name: named };
    this.#open.push({ name: local, node, text: [] });
  }

  #end(): void {
    const done = this.#open.pop();
    if (!done) return;
    const { name, node } = done;
    const text = done.text.join('').trim();
    if (text !== '') node['_text'] = text;
    if (name === 'status' && REFUSAL.test(text)) this.hasRefusals = true;
    const parent = this.#open.at(-1);
    if (this.isMultistatus && this.#open.length === 1) this.#child(name, node, text);
    // Children of the root are not kept, except the resources and the token.
    else if (parent && this.#open.length > 1) put(parent.node, name, node);
  }

  #child(name: string, node: DavNode, text: string): void {
    if (name === 'syncToken') this.token = text || null;
    if (name !== 'response') return;
    if (this.resources.length >= MOST_RESOURCES) throw new DavXmlError('it has too many resources');
    this.resources.push(resourceOf(node, this.#status));
  }
}

function put(parent: DavNode, name: string, node: DavNode): void {
  const there = parent[name];
  if (there === undefined) parent[name] = node;
  else if (Array.isArray(there)) there.push(node);
  else parent[name] = [there, node];
}

const listed = (value: unknown): DavNode[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as DavNode[]) : [value as DavNode];

const textIn = (value: unknown): string => {
  const text = listed(value)[0]?.['_text'];
  return typeof text === 'string' ? text : '';
};

function statusIn(value: unknown): number | null {
  const status = STATUS.exec(textIn(value))?.[1];
  return status === undefined ? null : Number(status);
}

function resourceOf(node: DavNode, answered: number): DavResource {
  const status = statusIn(node['status']) ?? answered;
  const props = Object.create(null) as Record<string, unknown>;
  for (const propstat of listed(node['propstat'])) {
    const given = statusIn(propstat['status']) ?? 200;
    if (given < 200 || given >= 300) continue;
    for (const prop of listed(propstat['prop']))
      for (const [name, value] of Object.entries(prop))
        if (name !== '_text' && name !== '_attributes') props[name] = value;
  }
  return { href: textIn(node['href']), status, ok: status >= 200 && status < 300, props };
}
