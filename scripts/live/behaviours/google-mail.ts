import { MARK_HEADER, markOfKind, withMark } from '../../../src/formats/mime/message-mark.ts';
import { newId, randomBase36 } from '../../../src/platform/base/ids/ids.ts';
import { field, items, text } from '../../lib/api-client.ts';
import { type CompanyAnswer, errorWord } from './company-client.ts';
import { isTooFast, listOf } from './google-lists.ts';
import type { Behaviour, Trial } from './observer.ts';

const ME = '/gmail/v1/users/me';
const MAIL = ['email', 'email.modify'];
const LOOKS = 15;

/** Sends a message to the account itself, with a Message-ID and a mark as the server makes them. */
async function sendMarked({ walk, company }: Trial) {
  const name = randomBase36(10);
  const messageId = `<${newId()}.${name}@carillon.invalid>`;
  const mark = markOfKind('send', messageId);
  const { email } = walk.account;
  const mime = [
    `From: <${email}>`,
    `To: <${email}>`,
    `Subject: Carillon live check ${name}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: ${messageId}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'This message was sent by a check of Carillon. It can be deleted.',
    '',
  ].join('\r\n');
  const sent = await company.expect('POST', `${ME}/messages/send`, {
    json: { raw: withMark(Buffer.from(mime), mark).toString('base64url') },
  });
  const id = text(sent, 'id');
  const remove = walk.made(`the message "Carillon live check ${name}"`, async () => {
    await company.expect('POST', `${ME}/messages/${encodeURIComponent(id)}/trash`);
  });
  return { id, mark, messageId, remove };
}

function headerOf(message: unknown, name: string): unknown {
  const headers = items(field(message, 'payload', 'headers') ?? []);
  const isSame = (one: unknown) => String(field(one, 'name')).toLowerCase() === name.toLowerCase();
  return field(headers.find(isSame), 'value');
}

const messageIdKept: Behaviour = {
  name: 'gmail-message-id',
  question: 'Does Gmail keep our well-formed Message-ID and our own header?',
  scopes: MAIL,
  async try(trial) {
    const { id, mark, messageId, remove } = await sendMarked(trial);
    const path = `${ME}/messages/${encodeURIComponent(id)}`;
    const stored = await trial.company.expect('GET', `${path}?format=metadata`);
    await remove();
    const storedId = headerOf(stored, 'Message-ID');
    // Every message has one, so this answer is not whole.
    if (storedId === undefined) return { answer: 'open', facts: { hasMessageId: false } };
    const isIdKept = storedId === messageId;
    const isHeaderKept = headerOf(stored, MARK_HEADER) === mark;
    return { answer: isIdKept && isHeaderKept ? 'yes' : 'no', facts: { isIdKept, isHeaderKept } };
  },
};

const KINDS = ['messagesAdded', 'labelsAdded', 'labelsRemoved', 'messagesDeleted'] as const;

/** Kinds of changes of one message in the order of the history. */
function changesOf(records: readonly unknown[], id: string): string[] {
  return records.flatMap((record) =>
    KINDS.filter((kind) =>
      items(field(record, kind) ?? []).some((one) => field(one, 'message', 'id') === id),
    ),
  );
}

const labelsFirst: Behaviour = {
  name: 'gmail-labels-before-message',
  question: 'Does the history name labels of a new message before the message itself?',
  scopes: MAIL,
  async try(trial) {
    const { company, walk } = trial;
    const profile = await company.expect('GET', `${ME}/profile`);
    const { id, remove } = await sendMarked(trial);
    const query = { startHistoryId: text(profile, 'historyId') };
    let first: string | undefined;
    let looks = 0;
    for (; looks < LOOKS && first === undefined && !walk.isInterrupted; looks += 1) {
      if (looks > 0) await trial.pause();
      const history = await listOf(company, `${ME}/history`, 'history', query);
      [first] = changesOf(history?.entries ?? [], id);
    }
    await remove();
    if (first === undefined) return { answer: 'open', facts: { looks } };
    return { answer: first === 'messagesAdded' ? 'no' : 'yes', facts: { looks, first } };
  },
};

/**
 * More than twice 6,000 units at 20 units for each message, and far fewer than 15,000 at 5. Twice,
 * because a new minute of Google's may begin meanwhile, or units may come back little by little.
 */
const READS = 640;
const READS_AT_ONCE = 10;
/**
 * An earlier refusal has another reason, such as another program that uses the account: the steps
 * before use far fewer than 4,000 units in a minute.
 */
const READS_OF_NEW = 100;
/**
 * What Google says when the units of a minute are used up. Limits of requests at a time, or in a
 * second, have the same reason and other words. Old projects have those limits, too.
 */
const PER_MINUTE = /per minute per user/i;

const oldQuotas: Behaviour = {
  name: 'gmail-old-project',
  question: 'Does this project have the quotas and costs from before May 2026 (GMAIL_PROJECT=old)?',
  scopes: MAIL,
  onlyRecorded: true,
  async try(trial) {
    const { company, walk } = trial;
    const path = await onePath(trial);
    if (path === undefined) return { answer: 'open', facts: { isMailboxEmpty: true } };
    const begun = trial.now();
    let refusal: CompanyAnswer | undefined;
    let reads = 0;
    while (reads < READS && !refusal && !walk.isInterrupted) {
      const some = Array.from({ length: READS_AT_ONCE }, () => company.call('GET', path));
      refusal = (await Promise.all(some)).find(({ status }) => status >= 300);
      reads += READS_AT_ONCE;
    }
    const seconds = Math.round((trial.now() - begun) / 1000);
    const error = refusal && errorWord(refusal);
    const facts = { reads, seconds, status: refusal?.status, error };
    if (refusal) {
      const words = field(refusal.body, 'error', 'message');
      const isPerMinute = typeof words === 'string' && PER_MINUTE.test(words);
      const isQuota = isTooFast(refusal, error) && isPerMinute && reads >= READS_OF_NEW;
      return { answer: isQuota ? 'no' : 'open', facts: { ...facts, isPerMinute } };
    }
    // Slower than a minute, the requests of a new project would not be refused either.
    return { answer: reads >= READS && seconds < 60 ? 'yes' : 'open', facts };
  },
};

/** The path of any message; `undefined` if the first page has none. */
async function onePath({ company }: Trial): Promise<string | undefined> {
  const list = await company.expect('GET', `${ME}/messages`, { query: { maxResults: '100' } });
  const [message] = items(field(list, 'messages') ?? []);
  if (message === undefined) return undefined;
  return `${ME}/messages/${encodeURIComponent(text(message, 'id'))}?format=minimal`;
}

/** Words by which Google says that an administrator does not allow an application. */
const BLOCKED: readonly unknown[] = ['domainPolicy', 'admin_policy_enforced'];

const blockedApplication: Behaviour = {
  name: 'google-blocked-application',
  question: 'Does a domain whose administrator blocks the application answer 403?',
  scopes: [],
  async try({ company }) {
    const answer = await company.call('GET', `${ME}/profile`);
    const error = errorWord(answer);
    const facts = { status: answer.status, error };
    // Missing consent, an API that is switched off and quotas are answered with 403 as well.
    return BLOCKED.includes(error)
      ? { answer: answer.status === 403 ? 'yes' : 'no', facts }
      : { answer: 'open', facts: { ...facts, needsBlockedAccount: true } };
  },
};

/** Behaviours of Gmail. The last one uses up the quota of a minute. */
export const GMAIL_BEHAVIOURS = [messageIdKept, labelsFirst, blockedApplication];
export const GMAIL_LAST = [oldQuotas];
