/** Mail that could not be delivered to one of its recipients, as a server has reported it. */
export interface FailedRecipient {
  /** As its sender has written it, as far as the report says so; lower case. */
  email: string;
  /** `soft`: another time it may be delivered. */
  type: 'hard' | 'soft';
  /** Enhanced status code (RFC 3463), e.g. `5.1.1`; null: the report has none. */
  code: string | null;
  /** Status code of the SMTP reply, e.g. `550`; null: the report has none. */
  smtpCode: string | null;
  /** The server's own words. */
  text: string;
}

/** What a report about a message (RFC 6522) says; one that nobody has failed in, or of another kind, says nothing. */
export interface DeliveryReport {
  /** Message-IDs that may be that of the message it is about, the likeliest first; with angle brackets. */
  about: string[];
  failed: FailedRecipient[];
}

/** A part of a message, decoded. */
export interface ReportPart {
  /** Lower case, without parameters. */
  contentType: string;
  /** Reads it, at most so many bytes of it. */
  text(mostBytes: number): string;
}

/** A report about more recipients is read as far as this. */
const MOST_RECIPIENTS = 100;
const MOST_IDS = 20;
const MOST_STATUS_BYTES = 256 * 1024;
const MOST_HEADER_BYTES = 64 * 1024;
const LONGEST_EMAIL = 320;
/** Of an address: what stands in front of it. */
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

/** Whether a message is a report: about its delivery, or that it was read; `contentType` is the whole header field. */
export function isReport(contentType: string): boolean {
  return /^\s*multipart\/report\s*(;|$)/i.test(contentType);
}

/**
 * Reads a delivery status notification (RFC 3464, and RFC 6533 for addresses beyond ASCII). Never throws, whatever it is given.
 * @param parts of the report, in order
 * @param named Message-IDs that the header of the report itself names
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

/** Groups of fields, each about a recipient, by their names in lower case. */
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
  const [, ofText] = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(text) ?? [];
  const [ofField] = /[245]\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '') ?? [];
  // "5.0.0" says no more than that it has failed: the server's own words may say why.
  const code = (ofField && !ofField.endsWith('.0.0') ? ofField : (ofText ?? ofField)) ?? null;
  const smtpCode = /\b[245]\d\d\b/.exec(text)?.[0] ?? null;
  const type = (code ?? smtpCode ?? '5').startsWith('4') ? 'soft' : 'hard';
  return { email, type, code, smtpCode, text: clean(text).slice(0, LONGEST_TEXT).toWellFormed() };
}

/** The address of `rfc822; ada@example.test`. */
function addressOf(field = ''): string | undefined {
  if (field.length > LONGEST_EMAIL + LONGEST_TYPE) return undefined;
  const [, address = ''] = /^(?:[\w-]+\s*;)?\s*<?([^<>\s]+@[^<>\s]+?)>?$/.exec(field) ?? [];
  const email = clean(address).toLowerCase();
  return email.length > 0 && email.length <= LONGEST_EMAIL ? email.toWellFormed() : undefined;
}

/** The Message-ID of a message or its header block. */
function idsOf(text: string): string[] {
  const [block = ''] = text.trimStart().replaceAll('\r\n', '\n').split('\n\n', 1);
  const header = fieldsOf(block).get('message-id') ?? '';
  return (clean(header).match(/<[^<>\s]+>/g) ?? []).filter(({ length }) => length <= LONGEST_ID);
}

/** PostgreSQL stores no NUL. */
const clean = (text: string): string => text.replaceAll('\0', '');
