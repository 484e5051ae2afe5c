import MimeNode from 'nodemailer/lib/mime-node/index.js';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { namesOnlyItself } from './sender-identity.ts';

/** A message that its sender composed. */
export interface RawMessage {
  /** With CRLF line ends. */
  mime: Buffer;
  /** With angle brackets; `null` if the message had no valid Message-ID. */
  messageIdHeader: string | null;
}

/** Values for header fields that the message lacks. */
export interface RawDefaults {
  from: Address;
  messageIdHeader: string;
  date: Date;
}

/** Longest accepted Message-ID; other programs do not keep longer ones either. */
const MOST_ID_LENGTH = 500;
/** Largest header in bytes: far more than any mail server accepts, and still quick to read. */
const MOST_HEADER_BYTES = 1024 * 1024;
const FIELD = /^([!-9;-~]+)[ \t]*:/;
/** Fields that name the author or sender (RFC 5322 3.6.2, 3.6.6). */
const AUTHORS = [
  ['from', 'From'],
  ['sender', 'Sender'],
  ['resent-from', 'Resent-From'],
  ['resent-sender', 'Resent-Sender'],
] as const;
/** Header fields that recipients must not see (RFC 5322 3.6.3, 3.6.6). */
const HIDDEN = new Set(['bcc', 'resent-bcc']);

/**
 * Prepares a message that its sender composed: removes Bcc and adds missing header fields.
 * Everything else stays as it is.
 * @throws {InvalidInputError} if the input is not a message, or names another author than
 *   `defaults.from`
 */
export function prepareRaw(input: Buffer, defaults: RawDefaults): RawMessage {
  assertShortHeader(input);
  const text = input.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n');
  const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n');
  const head = end < 0 ? text.replace(/(\r\n)?$/, '\r\n') : text.slice(0, end + 2);
  const body = end < 0 ? '\r\n' : text.slice(end + 2);
  const fields = fieldsOf(head);
  for (const [name, title] of AUTHORS) assertOwn(title, valuesOf(fields, name), defaults.from);
  const kept = fields.filter(({ name }) => !HIDDEN.has(name));
  const ids = valuesOf(fields, 'message-id');
  const own = ids.length === 1 ? (/^\s*(<[^<>\s]+>)\s*$/.exec(ids[0] ?? '')?.[1] ?? null) : null;
  const messageIdHeader = own !== null && own.length <= MOST_ID_LENGTH && isPlain(own) ? own : null;
  const rest = messageIdHeader === null ? kept.filter(({ name }) => name !== 'message-id') : kept;
  const added = [
    ...(messageIdHeader === null ? [`Message-ID: ${defaults.messageIdHeader}\r\n`] : []),
    ...(valuesOf(fields, 'from').length === 0 ? [fromLine(defaults.from)] : []),
    ...(valuesOf(fields, 'date').length === 0
      ? [`Date: ${defaults.date.toUTCString().replace(/GMT$/, '+0000')}\r\n`]
      : []),
  ];
  const header = [...added, ...rest.map(({ lines }) => lines)].join('');
  return { mime: Buffer.from(header + body, 'latin1'), messageIdHeader };
}

/** @throws {InvalidInputError} if the header is too large */
function assertShortHeader(input: Buffer): void {
  const beginning = input.subarray(0, MOST_HEADER_BYTES).toString('latin1');
  if (input.length > MOST_HEADER_BYTES && !/\r\n\r\n|\n\n|\r\r/.test(beginning))
    throw new InvalidInputError(
      'The request body is not a valid message: its header is larger than 1 MB',
    );
}

/**
 * Checks that a field names the account and no one else, however a reader interprets several
 * authors or fields (RFC 5322 3.6.2).
 * @throws {InvalidInputError}
 */
function assertOwn(title: string, values: readonly string[], { email }: Address): void {
  if (values.length === 0) return;
  const isOwn = (value: string) =>
    namesOnlyItself(Buffer.from(value, 'latin1').toString(), { email });
  if (values.length > 1 || !values.every(isOwn))
    throw new InvalidInputError(
      `${title}: must be the address of the account, ${email}, and nothing else`,
    );
}

interface Field {
  /** Lower case. */
  name: string;
  /** Unchanged, including the CRLF of each line. */
  lines: string;
}

/** @throws {InvalidInputError} if the header is empty or invalid */
function fieldsOf(head: string): Field[] {
  const fields: Field[] = [];
  for (const line of head.split('\r\n').slice(0, -1)) {
    const last = fields.at(-1);
    const name = FIELD.exec(line)?.[1];
    if (/^[ \t]/.test(line) && last) last.lines += `${line}\r\n`;
    else if (name !== undefined) fields.push({ name: name.toLowerCase(), lines: `${line}\r\n` });
    // Some programs put the separator line of an mbox file in front.
    else if (fields.length > 0 || !line.startsWith('From '))
      throw new InvalidInputError(
        'The request body is not a valid message: its header has a line that is not a header field',
      );
  }
  if (fields.length === 0)
    throw new InvalidInputError('The request body is not a valid message: it has no header');
  return fields;
}

const valuesOf = (fields: readonly Field[], name: string): string[] =>
  fields.flatMap((field) =>
    field.name === name
      ? [field.lines.slice(field.lines.indexOf(':') + 1).replaceAll('\r\n', '')]
      : [],
  );

const isPlain = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

function fromLine({ name, email }: Address): string {
  const node = new MimeNode('text/plain');
  node.setHeader('From', { name, address: email });
  const header = node.buildHeaders();
  const line = /^From:.*(?:\r\n[ \t].*)*/im.exec(header)?.[0] ?? `From: <${email}>`;
  return `${Buffer.from(line).toString('latin1')}\r\n`;
}
