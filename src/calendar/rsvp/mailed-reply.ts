import type { ItipAttendee, ItipEvent, ItipMessage } from '../../formats/ical/itip.ts';
import { compareRevisions } from '../../formats/ical/revisions.ts';
import type { Participant } from '../events/event-values.ts';
import type { MeetingBatch } from './meeting-batch.ts';
import { type InvitingMail, MOST_PARTICIPANTS, storedText } from './meeting.ts';

const LONGEST_COMMENT = 2048;
const LONGEST_NAME = 998;
/** Most events of a reply: the series is expanded for each unchanged instance. */
const MOST_EVENTS = 20;
/** Most answers in one event of a reply; usually there is one, or two for a delegation. */
const MOST_ANSWERS = 10;

/**
 * Applies answers to a meeting that the account organizes (RFC 5546 3.2.3), or to one instance of
 * it. An answer counts if the mail's author, known for certain, is the participant, or may answer
 * for the participant (ADR 0118). Nothing changes if the participant was not invited, if the mail
 * contains no answer, or if a later answer of the same participant is known.
 */
export function applyReply(
  batch: MeetingBatch,
  { sender, account }: InvitingMail,
  message: ItipMessage,
  isNews: boolean,
): void {
  if (sender === null) return;
  for (const received of message.events.slice(0, MOST_EVENTS)) {
    const answers = received.attendees
      .filter((one) => one.email !== account && mayAnswer(sender, one))
      .map((one) => ({ ...one, delegates: delegatesOf(one, sender, account) }))
      .filter(isAnswer)
      .slice(0, MOST_ANSWERS);
    for (const answer of answers) applyAnswer(batch, message.uid, { received, answer }, isNews);
  }
}

/** A VEVENT of a reply, and one of the answers in it. */
interface ReceivedAnswer {
  received: ItipEvent;
  answer: ItipAttendee;
}

const isAnswer = ({ status, delegates }: ItipAttendee): boolean =>
  status !== 'noreply' || delegates.length > 0;

/** Only participants themselves delegate: nobody else can add people to a meeting. */
const delegatesOf = ({ email, delegates }: ItipAttendee, sender: string, account: string) =>
  email === sender ? delegates.filter((one) => one !== account) : [];

/** Anybody can write SENT-BY, so the sender must at least be of the participant's organization. */
const mayAnswer = (sender: string, { email, sentBy }: ItipAttendee): boolean =>
  email === sender || (sentBy === sender && isOfOneOrganization(sender, email));

/**
 * Large providers where everybody can have an address, so that a common domain says nothing. There
 * are many more: this keeps the largest out.
 */
const SHARED_DOMAINS = new Set(
  [
    'gmail.com googlemail.com msn.com ymail.com icloud.com me.com mac.com aol.com proton.me pm.me',
    'protonmail.com fastmail.com zoho.com hey.com mail.com web.de t-online.de freenet.de posteo.de',
    'mailbox.org mail.ru bk.ru list.ru inbox.ru yandex.ru ya.ru rambler.ru ukr.net orange.fr',
    'wanadoo.fr free.fr laposte.net sfr.fr libero.it virgilio.it tiscali.it seznam.cz wp.pl o2.pl',
    'onet.pl interia.pl uol.com.br bol.com.br terra.com.br qq.com 163.com 126.com sina.com naver.com',
    'daum.net hanmail.net rediffmail.com comcast.net att.net verizon.net btinternet.com bigpond.com',
  ].flatMap((line) => line.split(' ')),
);
/** Providers with a domain in each country. */
const SHARED_NAMES = /^(?:yahoo|hotmail|live|outlook|gmx|yandex)\.[a-z.]{2,6}$/;

/** Whether two addresses have a domain in common that belongs to one organization. */
function isOfOneOrganization(one: string, other: string): boolean {
  const [domain, otherDomain] = [one, other].map((email) =>
    email.slice(email.lastIndexOf('@') + 1),
  );
  if (domain === undefined || domain !== otherDomain) return false;
  return !SHARED_DOMAINS.has(domain) && !SHARED_NAMES.test(domain);
}

function applyAnswer(
  batch: MeetingBatch,
  uid: string,
  { received, answer }: ReceivedAnswer,
  isNews: boolean,
): void {
  const event = batch.ownEvent(uid, received.instance);
  if (!event || event.fields.status === 'cancelled') return;
  const { participants } = event.fields;
  const after = participantsAfter(participants, received, answer);
  // An instance that has no row gets one only for a change.
  if (after === null || (after === participants && 'described' in event)) return;
  const state = batch.ownState(uid, received.instance, event.id);
  const last = state.replies[answer.email];
  // DTSTAMP has whole seconds. Of two answers within a second, the later mail wins.
  if (last && compareRevisions(received, last) < 0) return;
  const { sequence, stamp } = received;
  const replies = { ...state.replies, [answer.email]: { sequence, stamp } };
  batch.setOwnState({ ...state, replies });
  if (after !== participants) batch.answer(event, after, isNews);
}

/**
 * The participants after an answer; the same array if it changes nothing.
 * @returns `null` if the answer is of a person who was not invited
 */
function participantsAfter(
  participants: Participant[],
  received: ItipEvent,
  answer: ItipAttendee,
): Participant[] | null {
  const before = participants.find(({ email }) => email === answer.email);
  if (!before) {
    const mayJoin = participants.length < MOST_PARTICIPANTS && isDelegate(answer, participants);
    return mayJoin ? [...participants, answered(invited(answer), received, answer)] : null;
  }
  const delegates = answer.delegates
    .filter((email) => participants.every((one) => one.email !== email))
    .slice(0, Math.max(0, MOST_PARTICIPANTS - participants.length))
    .map((email) => invited(received.attendees.find((one) => one.email === email) ?? { email }));
  const after = answered(before, received, answer);
  if (after === before && delegates.length === 0) return participants;
  return [...participants.map((one) => (one === before ? after : one)), ...delegates];
}

/** Anybody can name a delegator, so the delegator must at least be of the same organization. */
const isDelegate = ({ email, delegators }: ItipAttendee, participants: Participant[]): boolean =>
  delegators.some(
    (one) => isOfOneOrganization(one, email) && participants.some((known) => known.email === one),
  );

const invited = ({ email, name = '' }: { email: string; name?: string }): Participant => {
  const shown = storedText(name, LONGEST_NAME) ?? '';
  return { email, name: shown, status: 'noreply', comment: null, phone_number: null };
};

/** The participant with the answer; the same object if nothing changes. */
function answered(before: Participant, received: ItipEvent, answer: ItipAttendee): Participant {
  const comment = storedText(received.comment ?? answer.comment, LONGEST_COMMENT);
  const name = before.name || (storedText(answer.name, LONGEST_NAME) ?? '');
  const { status } = answer;
  if (before.status === status && before.comment === comment && before.name === name) return before;
  return { ...before, status, comment, name };
}
