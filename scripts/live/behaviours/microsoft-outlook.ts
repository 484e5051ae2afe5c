import { randomBase36 } from '../../../src/platform/base/ids/ids.ts';
import { field, items, text } from '../../lib/api-client.ts';
import type { Behaviour, Trial } from './observer.ts';

const MESSAGES = '/v1.0/me/messages';
/** Five minutes with two seconds between looks. */
const LOOKS = 150;

/** All messages with this subject, in whichever folder. */
async function withSubject({ company }: Trial, subject: string): Promise<unknown[]> {
  const list = await company.expect('GET', MESSAGES, {
    query: {
      $filter: `subject eq '${subject}'`,
      $select: 'id,internetMessageId,isDraft,parentFolderId',
    },
  });
  return items(field(list, 'value') ?? []);
}

/** Makes a draft to the account itself. */
async function makeDraft(trial: Trial) {
  const { company, walk } = trial;
  const subject = `Carillon live check ${randomBase36(10)}`;
  const content = 'This draft was made by a check of Carillon. It can be deleted.';
  const toRecipients = [{ emailAddress: { address: walk.account.email } }];
  const draft = await company.expect('POST', MESSAGES, {
    json: { subject, body: { contentType: 'text', content }, toRecipients },
  });
  const remove = walk.made(`the draft "${subject}" and what was sent of it`, async () => {
    for (const one of await withSubject(trial, subject))
      await company.expect('POST', `${MESSAGES}/${encodeURIComponent(text(one, 'id'))}/move`, {
        json: { destinationId: 'deleteditems' },
      });
  });
  return { subject, id: text(draft, 'id'), messageId: text(draft, 'internetMessageId'), remove };
}

/** The copy in Sent Items when the user has sent the draft; `undefined` if that took too long. */
async function sentCopy(trial: Trial, subject: string): Promise<unknown> {
  const { company, walk } = trial;
  const folder = await company.expect('GET', '/v1.0/me/mailFolders/sentitems', {
    query: { $select: 'id' },
  });
  for (let looks = 0; looks < LOOKS && !walk.isInterrupted; looks += 1) {
    await trial.pause();
    const copy = (await withSubject(trial, subject)).find(
      (one) => field(one, 'parentFolderId') === field(folder, 'id'),
    );
    if (copy !== undefined) return copy;
  }
  return undefined;
}

/** Needs the user, who sends the draft with classic Outlook. */
export const outlookIds: Behaviour = {
  name: 'outlook-changes-ids',
  question: 'Does classic Outlook change the immutable id and Message-ID of a draft that it sends?',
  scopes: [],
  async try(trial) {
    const { walk } = trial;
    if (!walk.settings.hasOutlook) return { answer: 'open', facts: { needsClassicOutlook: true } };
    const draft = await makeDraft(trial);
    walk.report.note(
      `Within five minutes: send the draft "${draft.subject}" with classic Outlook for Windows.`,
    );
    const copy = await sentCopy(trial, draft.subject);
    await draft.remove();
    if (copy === undefined) return { answer: 'open', facts: { isSent: false } };
    const isIdKept = field(copy, 'id') === draft.id;
    const isMessageIdKept = field(copy, 'internetMessageId') === draft.messageId;
    const facts = { isIdKept, isMessageIdKept };
    return { answer: isIdKept && isMessageIdKept ? 'no' : 'yes', facts };
  },
};
