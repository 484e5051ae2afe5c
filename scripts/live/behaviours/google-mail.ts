import { randomBytes } from 'node:crypto';
import { field, items, text } from '../../lib/api-client.ts';
import { type CompanyAnswer, errorWord } from './company-client.ts';
import type { Behaviour, Trial } from './observer.ts';

const ME = '/gmail/v1/users/me';
const MAIL = ['email', 'email.modify'];
const OWN_HEADER = 'X-Carillon-Live';
const LOOKS = 15;

/** Sends a message to the account itself with a Message-ID and a header of our own. */
async function sendMarked({ walk, company }: Trial) {
  const mark = randomBytes(6).toString('hex');
  const messageId = `<carillon-live-${mark}@carillon.invalid>`;
  const { email } = walk.account;
  const raw = [
    `From: <${email}>`,
    `To: <${email}>`,
    `Subject: Carillon live check ${mark}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: ${messageId}`,
    `${OWN_HEADER}: ${mark}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'This message was sent by a check of Carillon. It can be deleted.',
    '',
  ].join('\r\n');
  const sent = await company.expect('POST', `${ME}/messages/send`, {
    json: { raw: Buffer.from(raw).toString('base64url') },
  });
  const id = text(sent, 'id');
  const remove = walk.made(`the message "Carillon live check ${mark}"`, async () => {
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
    const isIdKept = headerOf(stored, 'Message-ID') === messageId;
    const isHeaderKept = headerOf(stored, OWN_HEADER) === mark;
    return { answer: isIdKept && isHeaderKept ? 'yes' : 'no', facts: { isIdKept, isHeaderKept } };
  },
};

const KINDS = ['messagesAdded', 'labelsAdded', 'labelsRemoved', 'messagesDeleted'] as const;

/** Kinds of changes of one message in the order of the history. */
function changesOf(history: unknown, id: string): string[] {
  return items(field(history, 'history') ?? []).flatMap((record) =>
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
    let changes: string[] = [];
    let looks = 0;
    for (; looks < LOOKS && !walk.isInterrupted; looks += 1) {
      changes = changesOf(await company.expect('GET', `${ME}/history`, { query }), id);
      if (changes.includes('messagesAdded')) break;
      await trial.pause();
    }
    await remove();
    if (!changes.includes('messagesAdded')) return { answer: 'open', facts: { looks } };
    const [first] = changes;
    return { answer: first === 'messagesAdded' ? 'no' : 'yes', facts: { looks, first } };
  },
};

/** More than 6,000 units a minute at 20 units for each message, and far less at 5. */
const READS = 340;
const READS_AT_ONCE = 10;

const oldQuotas: Behaviour = {
  name: 'gmail-old-project',
  question: 'Does this project have the quotas and costs from before May 2026 (GMAIL_PROJECT=old)?',
  scopes: MAIL,
  onlyRecorded: true,
  async try({ company, walk }) {
    const list = await company.expect('GET', `${ME}/messages`, { query: { maxResults: '1' } });
    const [message] = items(field(list, 'messages') ?? []);
    if (message === undefined) return { answer: 'open', facts: { isMailboxEmpty: true } };
    const path = `${ME}/messages/${encodeURIComponent(text(message, 'id'))}?format=minimal`;
    const begun = performance.now();
    let refusal: CompanyAnswer | undefined;
    let reads = 0;
    while (reads < READS && !refusal && !walk.isInterrupted) {
      const some = Array.from({ length: READS_AT_ONCE }, () => company.call('GET', path));
      refusal = (await Promise.all(some)).find(({ status }) => status >= 300);
      reads += READS_AT_ONCE;
    }
    const seconds = Math.round((performance.now() - begun) / 1000);
    const facts = { reads, seconds, status: refusal?.status, error: refusal && errorWord(refusal) };
    if (refusal) return { answer: isTooFast(refusal) ? 'no' : 'open', facts };
    // Slower than a minute, the requests of a new project would not be refused either.
    return { answer: seconds < 60 ? 'yes' : 'open', facts };
  },
};

const isTooFast = ({ status }: CompanyAnswer): boolean => status === 429 || status === 403;

const blockedApplication: Behaviour = {
  name: 'google-blocked-application',
  question: 'Does a domain whose administrator blocks the application answer 403?',
  scopes: [],
  async try({ company }) {
    const answer = await company.call('GET', `${ME}/profile`);
    const facts = { status: answer.status, error: errorWord(answer) };
    return answer.status === 403
      ? { answer: 'yes', facts }
      : { answer: 'open', facts: { ...facts, needsBlockedAccount: true } };
  },
};

/** Behaviours of Gmail. The last one uses up the quota of a minute. */
export const GMAIL_BEHAVIOURS = [messageIdKept, labelsFirst, blockedApplication];
export const GMAIL_LAST = [oldQuotas];
