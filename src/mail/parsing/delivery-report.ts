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

/** A decoded part of a message. */
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

/**
 * True if a message is a report, about its delivery or about being read.
 * @param contentType the complete header field
 */
export function isReport(contentType: string): boolean {
  return /^\s*multipart\/report\s*(;|$)/i.test(contentType);
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
  const [, ofText] = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(text) ?? [];
  const [ofField] = /[245]\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '') ?? [];
  // "5.0.0" is generic. The code in the server's text may give the reason.
  const code = (ofField && !ofField.endsWith('.0.0') ? ofField : (ofText ?? ofField)) ?? null;
  const smtpCode = /\b[245]\d\d\b/.exec(text)?.[0] ?? null;
  const type = (code ?? smtpCode ?? '5').startsWith('4') ? 'soft' : 'hard';
  return { email, type, code, smtpCode, text: clean(text).slice(0, LONGEST_TEXT).toWellFormed() };
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
