/** A message that a fake IMAP server returns. Only `raw` is required. */
export interface FakeMessage {
  /** The message as sent on the wire. A string is sent as UTF-8. */
  raw: string | Buffer;
  /** Default: none. */
  flags?: readonly string[];
  /** When the server received the message. Default: now. */
  date?: Date;
  /** The size that the server reports. Default: the real size. */
  size?: number;
  /** Response to BODYSTRUCTURE. Default: NIL. Carillon reads it for messages above 256 kB. */
  structure?: string;
  /** Contents of sections (`1`, `1.2`, `HEADER`) that differ from those in `raw`. */
  sections?: Readonly<Record<string, string | Buffer>>;
}

/** A message in a folder. */
export interface StoredMessage extends Omit<FakeMessage, 'raw' | 'flags' | 'date'> {
  uid: number;
  raw: Buffer;
  flags: Set<string>;
  date: Date;
}

/** One folder of a fake IMAP server. */
export class FakeFolder {
  readonly messages: StoredMessage[] = [];
  readonly uidValidity = 1;
  uidNext = 1;

  constructor(
    readonly path: string,
    readonly attributes: string,
  ) {}

  /**
   * Adds a message.
   * @returns its UID
   */
  add({ raw, flags = [], date = new Date(), ...rest }: FakeMessage): number {
    const uid = this.uidNext++;
    this.messages.push({
      ...rest,
      uid,
      raw: Buffer.from(raw as string),
      flags: new Set(flags),
      date,
    });
    return uid;
  }

  /** Messages of a sequence set, with their positions counted from 1. */
  select(set: string, byUid: boolean): [position: number, message: StoredMessage][] {
    const last = byUid ? (this.messages.at(-1)?.uid ?? 0) : this.messages.length;
    const ranges = set.split(',').map((part) => {
      const [a = 0, b = a] = part.split(':').map((end) => (end === '*' ? last : Number(end)));
      return [Math.min(a, b), Math.max(a, b)] as const;
    });
    return this.messages
      .map((message, index): [number, StoredMessage] => [index + 1, message])
      .filter(([position, { uid }]) => {
        const key = byUid ? uid : position;
        return ranges.some(([lo, hi]) => key >= lo && key <= hi);
      });
  }
}

/** The folders that a fake server starts with. */
export function usualFolders(): Map<string, FakeFolder> {
  const folders = [
    new FakeFolder('INBOX', ''),
    new FakeFolder('Sent', String.raw`\Sent`),
    new FakeFolder('Drafts', String.raw`\Drafts`),
    new FakeFolder('Trash', String.raw`\Trash`),
  ];
  return new Map(folders.map((folder) => [folder.path, folder]));
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function internalDate(date: Date): string {
  const time = date.toISOString().slice(11, 19);
  const day = String(date.getUTCDate()).padStart(2, '0');
  return `"${day}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()} ${time} +0000"`;
}

/**
 * A section of a message: the whole message, its header, its text, or the content that the test
 * gave.
 */
function sectionOf({ raw, sections }: StoredMessage, name: string): Buffer {
  const own = sections?.[name];
  if (own !== undefined) return Buffer.from(own as string);
  const end = raw.indexOf('\r\n\r\n');
  const split = end < 0 ? raw.length : end + 4;
  if (name === '') return raw;
  return name.startsWith('HEADER') ? raw.subarray(0, split) : raw.subarray(split);
}

const ITEM =
  /BODY(?:\.PEEK)?\[(?<section>[^\]]*)\](?:<(?<from>\d+)\.(?<length>\d+)>)?|BODYSTRUCTURE|UID|FLAGS|INTERNALDATE|RFC822\.SIZE/gi;

/**
 * The FETCH response for one message.
 * @param items as the client requested them
 */
export function fetchAnswer(position: number, message: StoredMessage, items: string): Buffer {
  const parts: Buffer[] = [];
  for (const match of items.matchAll(ITEM)) {
    const name = match[0].toUpperCase();
    const { section, from, length } = match.groups ?? {};
    if (section !== undefined) {
      const whole = sectionOf(message, section.toUpperCase());
      const bytes =
        from === undefined ? whole : whole.subarray(Number(from), Number(from) + Number(length));
      const origin = from === undefined ? '' : `<${from}>`;
      parts.push(
        Buffer.from(`BODY[${section}]${origin} {${bytes.length}}\r\n`),
        bytes,
        Buffer.from(' '),
      );
    } else parts.push(Buffer.from(`${name} ${plainItem(name, message)} `));
  }
  const body = Buffer.concat(parts);
  return Buffer.concat([
    Buffer.from(`* ${position} FETCH (`),
    body.subarray(0, Math.max(0, body.length - 1)),
    Buffer.from(')\r\n'),
  ]);
}

function plainItem(
  name: string,
  { uid, flags, date, size, raw, structure }: StoredMessage,
): string {
  switch (name) {
    case 'UID':
      return String(uid);
    case 'FLAGS':
      return `(${[...flags].join(' ')})`;
    case 'INTERNALDATE':
      return internalDate(date);
    case 'RFC822.SIZE':
      return String(size ?? raw.length);
    default:
      return structure ?? 'NIL';
  }
}
