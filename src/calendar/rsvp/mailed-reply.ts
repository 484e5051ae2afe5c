import type { ItipMessage } from '../../formats/ical/itip.ts';
import type { MeetingBook } from './meeting-book.ts';
import { type InvitingMail, storedText } from './meeting.ts';
import { compareRevisions } from '../../formats/ical/revisions.ts';

const LONGEST_COMMENT = 2048;
const LONGEST_NAME = 998;

/**
 * Takes up the answer of a participant to a meeting of the account's own (RFC 5546 3.2.3). It only says something of whoever
 * has sent the mail; people who were not invited, answers that are none, and older ones change nothing.
 */
export function takeReply(book: MeetingBook, { sender }: InvitingMail, message: ItipMessage, isNews: boolean): void {
  if (sender === null) return;
  for (const said of message.events) {
    const answer = said.participants.find(({ email }) => email === sender);
    const event = answer && answer.status !== 'noreply' ? book.ownEvent(message.uid, said.instance) : null;
    const before = event?.fields.participants.find(({ email }) => email === sender);
    if (!answer || !event || !before || event.fields.status === 'cancelled') continue;
    const state = book.ownState(message.uid, said.instance, event.id);
    const last = state.replies[sender];
    // DTSTAMP has whole seconds: of two answers within one the later mail holds.
    if (last && compareRevisions(said, last) < 0) continue;
    state.replies = { ...state.replies, [sender]: { sequence: said.sequence, stamp: said.stamp } };
    const comment = storedText(said.comment ?? answer.comment, LONGEST_COMMENT);
    const name = before.name || (storedText(answer.name, LONGEST_NAME) ?? '');
    if (before.status === answer.status && before.comment === comment && before.name === name) continue;
    const after = { ...before, status: answer.status, comment, name };
    book.answer(event, event.fields.participants.map((one) => (one === before ? after : one)), isNews);
  }
} // prettier-ignore
