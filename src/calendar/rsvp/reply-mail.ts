import type { Address } from '../../platform/base/text/address.ts';
import type { Participant, When } from '../events/event-values.ts';
import { icsOf, plain, type ShownEvent } from '../events/ics/ics-writer.ts';

/** The answer of an account to an invitation. */
export interface Reply {
  uid: string;
  /** SEQUENCE of the invitation that is answered. */
  sequence: number;
  organizer: Address;
  /** The account as a participant, with its answer. */
  attendee: Participant;
  title: string;
  when: When;
  /** For an instance of a series: its start according to the rules. */
  originalStart: Date | null;
  at: Date;
}

/**
 * Writes the iTIP message (RFC 5546 3.2.3). It names only the participant who answers.
 * @throws {UnwritableEventError}
 */
export function replyFile({
  uid,
  sequence,
  organizer,
  attendee,
  title,
  when,
  originalStart,
  at,
}: Reply): string {
  const event: ShownEvent = {
    title,
    when,
    description: '',
    location: '',
    busy: true,
    status: 'confirmed',
    visibility: null,
    recurrence: null,
    conferencing: null,
  };
  const instance = originalStart && { originalStart, series: null };
  const { comment } = attendee;
  return icsOf({ method: 'REPLY' }, [
    { event, uid, sequence, stamp: at, organizer, attendees: [attendee], comment, instance },
  ]);
}

const VERBS = { yes: 'Accepted', no: 'Declined', maybe: 'Tentative', noreply: 'Answer' } as const;
const SENTENCES = {
  yes: 'has accepted this invitation',
  no: 'has declined this invitation',
  maybe: 'may come',
  noreply: 'has withdrawn the answer',
} as const;

/** Subject and body of the mail, as people read them. */
export function replyWords({ attendee, title }: Reply): {
  subject: string;
  html: string;
  text: string;
} {
  const name = title.trim() || 'Untitled event';
  const who = attendee.name || attendee.email;
  const lines = [
    `${who} ${SENTENCES[attendee.status]}: ${name}`,
    ...(attendee.comment ? ['', attendee.comment] : []),
  ];
  const text = plain(lines.join('\n'));
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return {
    subject: `${VERBS[attendee.status]}: ${name}`,
    text,
    html: `<p>${escaped.replaceAll('\n', '<br>')}</p>`,
  };
}
