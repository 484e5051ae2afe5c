import type { ItipMessage } from '../../formats/ical/itip.ts';
import type { MeetingBatch } from './meeting-batch.ts';
import { type InvitingMail, storedText } from './meeting.ts';
import { compareRevisions } from '../../formats/ical/revisions.ts';

const LONGEST_COMMENT = 2048;
const LONGEST_NAME = 998;

/**
 * Applies a participant's answer to a meeting that the account organizes (RFC 5546 3.2.3). Only the
 * sender's own answer counts. Nothing changes if the sender was not invited, if the mail contains
 * no answer, or if a later answer is known.
 */
export function applyReply(batch: MeetingBatch, { sender }: InvitingMail, message: ItipMessage, isNews: boolean): void {
  if (sender === null) return;
  for (const received of message.events) {
    const answer = received.participants.find(({ email }) => email === sender);
    const event = answer && answer.status !== 'noreply' ? batch.ownEvent(message.uid, received.instance) : null;
    const before = event?.fields.participants.find(({ email }) => email === sender);
    if (!answer || !event || !before || event.fields.status === 'cancelled') continue;
    const state = batch.ownState(message.uid, received.instance, event.id);
    const last = state.replies[sender];
    // DTSTAMP has whole seconds. Of two answers within a second, the later mail wins.
    if (last && compareRevisions(received, last) < 0) continue;
    state.replies = { ...state.replies, [sender]: { sequence: received.sequence, stamp: received.stamp } };
    const comment = storedText(received.comment ?? answer.comment, LONGEST_COMMENT);
    const name = before.name || (storedText(answer.name, LONGEST_NAME) ?? '');
    if (before.status === answer.status && before.comment === comment && before.name === name) continue;
    const after = { ...before, status: answer.status, comment, name };
    batch.answer(event, event.fields.participants.map((one) => (one === before ? after : one)), isNews);
  }
} // prettier-ignore
