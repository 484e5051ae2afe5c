import { addressesIn, headerValue, messageIdsIn } from './mime.ts';
import type { Mailbox, MailMessage } from './mailbox.ts';
import { hasAttachment } from './view.ts';

/** What a listing asks for. */
export interface MailFilter {
  /** A search as typed into Gmail; empty for none. */
  q: string;
  /** Labels that a message must have, all of them. */
  labelIds: readonly string[];
  includeSpamTrash: boolean;
}

type Test = (message: MailMessage) => boolean;

/**
 * Messages that match, newest first. Spam and trash are left out unless the filter names them.
 * The search knows the operators that clients use: all terms must match, `-` negates a term, and
 * `{…}` and OR match any of several.
 */
export function matchingMessages(mailbox: Mailbox, filter: MailFilter): MailMessage[] {
  const { q, labelIds, includeSpamTrash } = filter;
  const named = /(^|[\s({-])(in:(anywhere|trash|spam)|rfc822msgid:)/i.test(q);
  const hidden = ['SPAM', 'TRASH'].filter((label) => !labelIds.includes(label));
  const isHidden: Test = ({ labels }) =>
    !includeSpamTrash && !named && hidden.some((label) => labels.has(label));
  const test = searchTest(mailbox, q);
  return mailbox
    .messages()
    .filter((message) => labelIds.every((id) => message.labels.has(id)))
    .filter((message) => !isHidden(message) && test(message));
}

function searchTest(mailbox: Mailbox, q: string): Test {
  const tests: Test[] = [];
  for (const [, minus, any, text] of q.matchAll(
    /(-?)(?:[({]([^)}]*)[)}]|((?:\w+:)?(?:"[^"]*"|[^\s"]+)))/g,
  )) {
    const one = any === undefined ? term(mailbox, text ?? '') : anyOf(mailbox, any);
    tests.push(minus ? (message) => !one(message) : one);
  }
  return (message) => tests.every((test) => test(message));
}

function anyOf(mailbox: Mailbox, text: string): Test {
  const tests = text
    .split(/\s+(?:OR\s+)?/)
    .filter(Boolean)
    .map((one) => term(mailbox, one));
  return (message) => tests.some((test) => test(message));
}

function term(mailbox: Mailbox, text: string): Test {
  const [, operator = '', rest = ''] = /^(?:(\w+):)?(.*)$/s.exec(text) ?? [];
  const value = rest.replace(/^"|"$/g, '');
  const wanted = value.toLowerCase();
  const header =
    (name: string): Test =>
    ({ headers }) =>
      (headerValue(headers, name) ?? '').toLowerCase().includes(wanted);
  const people =
    (...names: string[]): Test =>
    (message) =>
      names.some((name) => header(name)(message)) ||
      names.some((name) => addressesIn(headerValue(message.headers, name)).includes(wanted));
  const tests: Record<string, () => Test> = {
    after: () => (message) => message.date >= time(value),
    newer: () => (message) => message.date >= time(value),
    before: () => (message) => message.date < time(value),
    older: () => (message) => message.date < time(value),
    rfc822msgid: () => (message) => {
      const ids = messageIdsIn(headerValue(message.headers, 'message-id'));
      return ids.includes(`<${value.replace(/^<|>$/g, '')}>`);
    },
    in: () => place(mailbox, wanted),
    is: () => state(wanted),
    label: () => place(mailbox, wanted),
    from: () => people('from'),
    to: () => people('to', 'cc', 'bcc'),
    cc: () => people('cc'),
    bcc: () => people('bcc'),
    subject: () => header('subject'),
    has: () => (message) => wanted === 'attachment' && hasAttachment(message),
    larger: () => (message) => message.raw.length > Number(value),
    smaller: () => (message) => message.raw.length < Number(value),
  };
  const known = tests[operator.toLowerCase()];
  if (known) return known();
  const words = text.replaceAll('"', '').toLowerCase();
  return ({ raw }) => raw.toString().toLowerCase().includes(words);
}

function place(mailbox: Mailbox, name: string): Test {
  if (name === 'anywhere') return () => true;
  const system =
    { drafts: 'DRAFT', draft: 'DRAFT', bin: 'TRASH', chats: 'CHAT' }[name] ?? name.toUpperCase();
  const label = mailbox.labels.has(system) ? system : mailbox.labels.named(name)?.id;
  return ({ labels }) => label !== undefined && labels.has(label);
}

function state(name: string): Test {
  if (name === 'read') return ({ labels }) => !labels.has('UNREAD');
  return ({ labels }) => labels.has(name.toUpperCase());
}

/** Seconds since 1970, or a day as 2026/11/23, which begins at midnight UTC here. */
function time(value: string): number {
  if (/^\d{9,}$/.test(value)) return Number(value) * 1000;
  const [year = 0, month = 1, day = 1] = value.split(/[/-]/).map(Number);
  return Date.UTC(year, month - 1, day);
}
