import sax, { type SaxParser } from 'sax';

/** A server of an autoconfig document, with its values unchanged. */
export interface AutoconfigServer {
  /** Name of the element: `incomingServer`, `outgoingServer`, `calendar` or `addressBook`. */
  element: string;
  /** Attribute `type`: `imap`, `pop3`, `smtp`, `caldav`, `carddav`, … */
  type: string;
  /** Texts of the child elements, by element name; at most ten each. */
  fields: ReadonlyMap<string, readonly string[]>;
}

/** The text is not an autoconfig document, or not one that this parser accepts. */
export class AutoconfigError extends Error {
  override name = 'AutoconfigError';
}

const SERVERS = new Set(['incomingServer', 'outgoingServer', 'calendar', 'addressBook']);
const MOST_TAGS = 2_000;
const MOST_SERVERS = 50;
const MOST_VALUES = 10;
const DEEPEST = 16;
const LONGEST_TEXT = 1_000;

/**
 * Reads Thunderbird's configuration format (version 1.1) and ignores everything else in the
 * document. Documents with a DTD are refused, so only XML's five predefined entities are expanded
 * and nothing is fetched.
 * @throws {AutoconfigError}
 */
export function parseAutoconfig(text: string): AutoconfigServer[] {
  const reader = new AutoconfigReader();
  try {
    return reader.read(text);
  } catch (error) {
    if (error instanceof AutoconfigError) throw error;
    throw new AutoconfigError('the document is not well-formed XML', { cause: error });
  }
}

class AutoconfigReader {
  readonly #servers: AutoconfigServer[] = [];
  readonly #path: string[] = [];
  readonly #sax: SaxParser;
  #server: { path: number; fields: Map<string, string[]> } | null = null;
  #text = '';
  #tags = 0;

  constructor() {
    this.#sax = sax.parser(true, { strictEntities: true });
    Object.assign(this.#sax, {
      onerror: (error) => {
        throw error;
      },
      ondoctype: () => {
        throw new AutoconfigError('the document has a DTD');
      },
      onopentag: ({ name, attributes }) => this.#open(name, attributes),
      onclosetag: () => this.#close(),
      ontext: (text) => this.#add(text),
      oncdata: (text) => this.#add(text),
    } satisfies Partial<SaxParser>);
  }

  read(text: string): AutoconfigServer[] {
    this.#sax.write(text.replace(/^\uFEFF/, '')).close();
    return this.#servers;
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#tags += 1;
    this.#path.push(name);
    if (this.#tags > MOST_TAGS || this.#path.length > DEEPEST)
      throw new AutoconfigError('the document is too large');
    if (this.#path[0] !== 'clientConfig')
      throw new AutoconfigError('the document is not a clientConfig');
    this.#text = '';
    if (this.#server || !SERVERS.has(name) || this.#servers.length >= MOST_SERVERS) return;
    const fields = new Map<string, string[]>();
    this.#server = { path: this.#path.length, fields };
    this.#servers.push({ element: name, type: (attributes['type'] ?? '').toLowerCase(), fields });
  }

  #close(): void {
    const name = this.#path.pop() ?? '';
    const depth = this.#path.length;
    if (this.#server && depth === this.#server.path) {
      const values = this.#server.fields.get(name) ?? [];
      if (values.length < MOST_VALUES)
        this.#server.fields.set(name, [...values, this.#text.trim()]);
    } else if (this.#server && depth < this.#server.path) this.#server = null;
    this.#text = '';
  }

  #add(text: string): void {
    if (this.#text.length < LONGEST_TEXT) this.#text += text.slice(0, LONGEST_TEXT);
  }
}
