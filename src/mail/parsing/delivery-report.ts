import type { Part } from '../../formats/mime/reading/part.ts';

/** A recipient to whom a message could not be delivered, as reported by a server. */
export interface FailedRecipient {
  /**
   * Address in lower case, as the sender wrote it if the report contains that, otherwise as the
   * server used it.
   */
  email: string;
  /** `soft`: a later delivery may succeed. */
  type: 'hard' | 'soft';
  /** Enhanced status code (RFC 3463), e.g. `5.1.1`; `null` if the report has none. */
  code: string | null;
  /** Status code of the SMTP reply, e.g. `550`; `null` if the report has none. */
  smtpCode: string | null;
  /** The server's own text. */
  text: string;
}

/**
 * Content of a report about a message (RFC 6522). Both lists are empty for a report of another
 * kind.
 */
export interface DeliveryReport {
  /** Possible Message-IDs of the reported message, most likely first; with angle brackets. */
  about: string[];
  failed: FailedRecipient[];
}

/** A decoded part of a report. */
export interface ReportPart {
  /** Lower case, without parameters. */
  contentType: string;
  /** Decodes at most `mostBytes` bytes of the part. */
  text(mostBytes: number): string;
}

/** Further recipients of a report are ignored. */
const MOST_RECIPIENTS = 100;
const MOST_IDS = 20;
const MOST_STATUS_BYTES = 256 * 1024;
const MOST_HEADER_BYTES = 64 * 1024;
const LONGEST_EMAIL = 320;
/** Maximum length of the address type in front of an address. */
const LONGEST_TYPE = 80;
const LONGEST_ID = 500;
const LONGEST_TEXT = 1_000;
const LONGEST_FIELD = 2_000;

const STATUS_TYPES = ['message/delivery-status', 'message/global-delivery-status'];
const ORIGINAL_TYPES = [
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'message/global-headers',
];

/** Multiparts around a report: one for each gateway or list that has added a text. */
const MOST_AROUND = 3;

/**
 * The report in a message: the message itself, or a part of it if a gateway has added a footer. It
 * may be about a delivery or about being read (RFC 6522). `null` if there is none; a report within
 * a forwarded message is that message's.
 */
export function findReport(root: Part): Part | null {
  let level: readonly Part[] = [root];
  for (let around = 0; around <= MOST_AROUND && level.length > 0; around += 1) {
    const found = level.find(({ writtenType }) => writtenType === 'multipart/report');
    if (found) return found;
    level = level.flatMap(({ children }) => children ?? []);
  }
  return null;
}

/**
 * Reads a delivery status notification (RFC 3464, and RFC 6533 for non-ASCII addresses). Never
 * throws.
 * @param parts parts of the report, in order
 * @param named Message-IDs named in the header of the report itself
 */
export function readDeliveryReport(
  parts: readonly ReportPart[],
  named: readonly string[],
): DeliveryReport {
  const status = parts.find(({ contentType }) => STATUS_TYPES.includes(contentType));
  if (!status) return { about: [], failed: [] };
  const original = parts.find(({ contentType }) => ORIGINAL_TYPES.includes(contentType));
  const about = [...(original ? idsOf(original.text(MOST_HEADER_BYTES)) : []), ...named];
  const recipients = recipientsOf(status.text(MOST_STATUS_BYTES));
  const failed = recipients.slice(0, MOST_RECIPIENTS).flatMap((fields) => failedOf(fields) ?? []);
  return { about: [...new Set(about)].slice(0, MOST_IDS), failed };
}

type Fields = ReadonlyMap<string, string>;

/** The field groups of the recipients, with field names in lower case. */
function recipientsOf(text: string): Fields[] {
  return text
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n/)
    .map((block) => fieldsOf(block))
    .filter((fields) => fields.has('final-recipient') || fields.has('original-recipient'));
}

function fieldsOf(block: string): Fields {
  const fields = new Map<string, string>();
  for (const line of block.replace(/\n[ \t]+/g, ' ').split('\n')) {
    const [, name, value] = /^([!-9;-~]+)[ \t]*:(.*)$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined && !fields.has(name.toLowerCase())) {
      fields.set(name.toLowerCase(), value.trim().slice(0, LONGEST_FIELD));
    }
  }
  return fields;
}

function failedOf(fields: Fields): FailedRecipient | undefined {
  if (fields.get('action')?.toLowerCase().split(/[\s(]/, 1)[0] !== 'failed') return undefined;
  const email =
    addressOf(fields.get('original-recipient')) ?? addressOf(fields.get('final-recipient'));
  if (email === undefined) return undefined;
  const text = (fields.get('diagnostic-code') ?? '')
    .replace(/^[\w-]+\s*;\s*/, '')
    .replace(/\s+/g, ' ');
  return failureOf(email, text, fields.get('status') ?? '');
}

/**
 * @param text the server's words
 * @param status the enhanced status code that the report names; may be empty
 */
function failureOf(email: string, text: string, status: string): FailedRecipient {
  const [, ofText] = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(text) ?? [];
  const [ofField] = /[245]\.\d{1,3}\.\d{1,3}/.exec(status) ?? [];
  // "5.0.0" is generic. The code in the server's text may give the reason.
  const code = (ofField && !ofField.endsWith('.0.0') ? ofField : (ofText ?? ofField)) ?? null;
  const smtpCode = /\b[245]\d\d\b/.exec(text)?.[0] ?? null;
  const type = (code ?? smtpCode ?? '5').startsWith('4') ? 'soft' : 'hard';
  return { email, type, code, smtpCode, text: clean(text).slice(0, LONGEST_TEXT).toWellFormed() };
}

/** In front of the copy of the original message in a failure notice. */
const COPY = /^-{3,}(?!-)[^\n]{0,200}?\b(?:copy|original)\b[^\n]*$/im;
/** An address of a host, whose numbers look like codes. */
const HOST = /\[[\d.:a-f]+\]/gi;

/**
 * Reads a notice of a mail server that names the failed recipients in its header
 * (`X-Failed-Recipients`, written by Exim and Gmail) and has no report. Never throws.
 * @param recipients the addresses in that field
 * @param text the notice, which may end with a copy of the original message
 * @param named Message-IDs named in the header of the notice itself
 */
export function readFailureNotice(
  recipients: readonly string[],
  text: string,
  named: readonly string[],
): DeliveryReport {
  const notice = text.slice(0, MOST_STATUS_BYTES).replaceAll('\r\n', '\n');
  const [words = '', ...copy] = notice.split(COPY);
  const about = [...idsOf(copy.join('').slice(0, MOST_HEADER_BYTES)), ...named];
  const blocks = words.split(/\n[ \t]*\n/);
  const failed = recipients.slice(0, MOST_RECIPIENTS).flatMap((recipient) => {
    const email = addressOf(recipient.trim());
    if (email === undefined) return [];
    const [, reason = ''] =
      blocks.find((one) => one.toLowerCase().includes(email))?.split(/\n(.*)/s) ?? [];
    return failureOf(email, reason.replace(HOST, '').replace(/\s+/g, ' ').trim(), '');
  });
  return { about: [...new Set(about)].slice(0, MOST_IDS), failed };
}

/** The address in a field such as `rfc822; ada@example.test`. */
function addressOf(field = ''): string | undefined {
  if (field.length > LONGEST_EMAIL + LONGEST_TYPE) return undefined;
  const [, address = ''] = /^(?:[\w-]+\s*;)?\s*<?([^<>\s]+@[^<>\s]+?)>?$/.exec(field) ?? [];
  const email = clean(address).toLowerCase();
  return email.length > 0 && email.length <= LONGEST_EMAIL ? email.toWellFormed() : undefined;
}

/** The Message-ID in a message or header block. */
function idsOf(text: string): string[] {
  const [block = ''] = text.trimStart().replaceAll('\r\n', '\n').split('\n\n', 1);
  const header = fieldsOf(block).get('message-id') ?? '';
  return (clean(header).match(/<[^<>\s]+>/g) ?? []).filter(({ length }) => length <= LONGEST_ID);
}

/** PostgreSQL cannot store NUL. */
const clean = (text: string): string => text.replaceAll('\0', '');
