import { deliver } from '../deliver.ts';
import type { TestApp } from '../test-app.ts';

const ADA = 'ada@sandbox.test';
/** Who organizes the meeting of `invite`. */
export const ORGANIZER = 'zoe@elsewhere.test';

const INVITATION = [
  'Subject: Planning',
  'Content-Type: text/calendar; method=REQUEST',
  '',
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//T//T//EN',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:planning@elsewhere.test',
  'DTSTAMP:20260101T000000Z',
  'DTSTART:20300601T100000Z',
  'DTEND:20300601T110000Z',
  'SUMMARY:Planning',
  `ORGANIZER;CN=Zoe:mailto:${ORGANIZER}`,
  `ATTENDEE;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:${ADA}`,
  'END:VEVENT',
  'END:VCALENDAR',
  '',
];

/** Sends an invitation from outside to the demo account, which `POST /send-rsvp` can answer. */
export async function invite(server: TestApp, accountId: string): Promise<void> {
  const account = { id: accountId, email: ADA, token: '', bearer: {} };
  await deliver(server, account, INVITATION, ORGANIZER);
}
