/** A message that a fake IMAP server gives out. Only `raw` is needed. */
export interface FakeMessage {
  /** The message as it is on the wire. A text is sent as UTF-8. */
  raw: string | Buffer;
  /** Default: none. */
  flags?: readonly string[];
  /** When the server received it; default: now. */
  date?: Date;
  /** What the server says of its size; default: the truth. */
  size?: number;
  /** Answer to BODYSTRUCTURE; default: NIL. Carillon reads it of messages above 256 kB. */
  structure?: string;
  /** Contents of sections (`1`, `1.2`, `HEADER`) that differ from what is in `raw`. */
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

  /** @returns its UID */
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

  /** Messages of a sequence set, with their positions from 1. */
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

/** The folders a fake server begins with. */
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

/** A section of a message: all of it, its header, its text, or what the test has said. */
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

/** The answer to FETCH of one message. @param items as the client has asked for them */
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
