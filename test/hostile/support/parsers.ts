import { InvalidInputError } from '../../../src/platform/base/errors/domain-error.ts';
import { UnreadableCalendarError } from '../../../src/formats/ical/ical-parse.ts';
import { fromCursor } from '../../../src/deltas/cursor.ts';
import { readInstanceId } from '../../../src/calendar/events/recurrence/instances.ts';
import { InvalidRecurrenceError } from '../../../src/formats/recurrence/recurrence-lines.ts';
import { TooManyOccurrencesError } from '../../../src/formats/recurrence/rules.ts';
import { Series } from '../../../src/formats/recurrence/series.ts';
import { readObject } from '../../../src/providers/imap/dav/calendars/dav-event-object.ts';
import {
  parseCard,
  readCard,
  UnreadableCardError,
} from '../../../src/providers/imap/dav/contacts/vcard.ts';
import {
  AutoconfigError,
  parseAutoconfig,
} from '../../../src/providers/imap/discovery/autoconfig-xml.ts';
import { decodeCursor } from '../../../src/providers/imap/changes/imap-cursor.ts';
import { readItip } from '../../../src/formats/ical/itip.ts';
import { parseSearchQuery } from '../../../src/mail/search/search-query.ts';
import { prepareRaw } from '../../../src/formats/mime/raw-mime.ts';
import { parseMessage } from '../../../src/mail/parsing/mime-parser.ts';

/** A reader of untrusted input. */
export interface Parser {
  name: string;
  /** Pieces of its language. Inputs are built from them. */
  tokens: readonly string[];
  /** Texts that are repeated, each alone, to make large inputs. */
  fragments: readonly string[];
  /** Adds the text around an input. Default: nothing. */
  wrap?(inner: string): string;
  read(text: string): unknown;
  /** Error classes that it may throw. Default: none. */
  refusals?: readonly (abstract new (...args: never[]) => Error)[];
  /** The longest input that the program gives it, in characters. Default: 256 kB. */
  most?: number;
}

const calendar = (inner: string) =>
  `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20300101T100000Z\r\nORGANIZER:mailto:z@x.test\r\n${inner}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;
const ICAL_TOKENS = [
  'BEGIN:VCALENDAR\r\n', 'END:VCALENDAR\r\n', 'BEGIN:VEVENT\r\n', 'END:VEVENT\r\n', 'BEGIN:VTIMEZONE\r\n', 'BEGIN:VALARM\r\n',
  'METHOD:REQUEST\r\n', 'UID:1\r\n', 'DTSTART;TZID=X:20300101T100000\r\n', 'DTSTART;VALUE=DATE:20300101\r\n', 'DTEND:99999999T999999Z\r\n',
  'DURATION:-P99999999D\r\n', 'RRULE:FREQ=SECONDLY\r\n', 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\r\n', 'EXDATE:20300101T100000Z,x\r\n',
  'RECURRENCE-ID;RANGE=THISANDFUTURE:20300102T100000Z\r\n', 'ATTENDEE;CN="a;b":mailto:b@x.test\r\n', 'SEQUENCE:1e99\r\n', ' folded\r\n', ';', ':', '"', '\\', '\\n', '\0', '\ud800', 'é', '\r\n', '\n',
] as const; // prettier-ignore
const ICAL_FRAGMENTS = [
  'ATTENDEE;CN=Bo;ROLE=REQ-PARTICIPANT:mailto:bo@x.test\r\n', 'EXDATE:20300101T100000Z\r\n', 'RRULE:FREQ=DAILY\r\n', 'X-A;B=C:D\r\n',
  'BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nACTION:DISPLAY\r\nEND:VALARM\r\n', 'BEGIN:X\r\n', 'DESCRIPTION:\\n\\,\\;\\\\\r\n', ' x\r\n', 'A;B="x:y":', ';;;;', '""', '\\', '\r\n', ':',
] as const; // prettier-ignore

const card = (inner: string) => `BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\n${inner}\r\nEND:VCARD\r\n`;
const mail = (inner: string) => `From: a@x.test\r\nSubject: x\r\n${inner}`;
const NESTED = Array.from(
  { length: 99 },
  (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
).join('');

export const PARSERS: readonly Parser[] = [
  {
    name: 'MIME',
    tokens: [
      'Content-Type: multipart/mixed; boundary=b\r\n',
      'Content-Type: multipart/alternative; boundary="b b"\r\n',
      'Content-Type: message/rfc822\r\n',
      'Content-Type: text/html; charset=utf-7\r\n',
      'Content-Type: text/plain; format=flowed; charset=hz\r\n',
      'Content-Type: text\r\n',
      '=?utf-7?Q?+',
      '~{',
      'Content-Type: text/calendar\r\n',
      'Content-Transfer-Encoding: base64\r\n',
      'Content-Transfer-Encoding: quoted-printable\r\n',
      "Content-Disposition: attachment; filename*0*=utf-8''%41\r\n",
      'Subject: =?utf-8?B?////?=\r\n',
      'To: a <b@x.test>, "c\r\n',
      'References: <a@b> <c@d>\r\n',
      '--b\r\n',
      '--b--\r\n',
      '\r\n',
      '\r\n\r\n',
      '=',
      '=?x?q?',
      '<p>',
      '<a href="x">',
      '<!--',
      '<style>',
      '&amp;',
      'AAAA',
      '\0',
      '\u00ff',
      ' ',
      '\t',
      '"',
      '(',
      '<',
      ',',
      ';',
    ],
    fragments: [
      'To: Bo <bo@x.test>,\r\n',
      'To: (((\r\n',
      'Subject: =?utf-8?Q?a?=\r\n',
      ' =?utf-8?B?QQ==?=\r\n',
      'References: <a@b>\r\n',
      'X: y\r\n',
      '\r\n--b\r\nContent-Type: text/plain\r\n\r\nx',
      '=3D',
      '\r\n> quoted',
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n',
      '\r\n\r\nBEGIN:VCALENDAR\r\n',
      'Content-Type: text/plain; a=b;',
      '"',
      '<',
      '(',
      ',',
      ';',
    ],
    wrap: (inner) => mail(inner),
    read: (text) => parseMessage(Buffer.from(text)),
  },
  {
    name: 'MIME in open multiparts',
    tokens: ['--\r\n', '--b1\r\n', '--b98--\r\n', '--x\r\n', 'X: y\r\n', '\r\n', '--', 'x'],
    fragments: ['--\r\n', '--x\r\n', '--b98\r\nX: y\r\n', 'X: y\r\n', '--'],
    wrap: (inner) => mail(`${NESTED}${inner}`),
    read: (text) => parseMessage(Buffer.from(text)),
  },
  {
    name: 'HTML of a mail',
    tokens: [
      '<div>',
      '</div>',
      '<table><tr><td>',
      '<blockquote>',
      '<a href="http://x.test/">',
      '<img src=x>',
      '<!--',
      '-->',
      '<![CDATA[',
      '<style>',
      '</style>',
      '<script>',
      '&#x0;',
      '&amp',
      '<p',
      '"',
      "'",
      '=',
      '\0',
      '<svg><foreignObject>',
      '<br>',
      'x',
    ],
    fragments: [
      '<div>',
      '<b><i>',
      '<table>',
      '<a href="',
      '<!--',
      '&amp;',
      '<p class=x>',
      '<blockquote>',
      '</p>',
      '<br>',
      '<',
      '&',
      '<svg><title>',
      'x ',
    ],
    wrap: (inner) => `${mail('Content-Type: text/html\r\n\r\n')}${inner}`,
    read: (text) => parseMessage(Buffer.from(text)),
    refusals: [Error],
  },
  {
    name: 'iTIP',
    tokens: ICAL_TOKENS,
    fragments: ICAL_FRAGMENTS,
    wrap: calendar,
    read: (text) => readItip([text]),
  },
  {
    name: 'ICS of a calendar server',
    tokens: ICAL_TOKENS,
    fragments: ICAL_FRAGMENTS,
    wrap: calendar,
    read: (text) => readObject({ path: '/x.ics', text } as Parameters<typeof readObject>[0]),
    refusals: [UnreadableCalendarError],
  },
  {
    name: 'vCard',
    tokens: [
      'BEGIN:VCARD\r\n',
      'END:VCARD\r\n',
      'VERSION:4.0\r\n',
      'N:;;;;\r\n',
      'FN:x\r\n',
      'EMAIL;TYPE=home,work:a@x.test\r\n',
      'item1.TEL:+1\r\n',
      'item1.X-ABLABEL:_$!<x>!$_\r\n',
      'BDAY:--0230\r\n',
      'PHOTO;ENCODING=b:AAAA\r\n',
      'CATEGORIES:a\\,b,c\r\n',
      'ADR:;;;;;;\r\n',
      ' folded\r\n',
      ';',
      ':',
      '"',
      '\\',
      '\0',
      '\ud800',
    ],
    fragments: [
      'EMAIL;TYPE=home:a@x.test\r\n',
      'CATEGORIES:a,b\r\n',
      'item1.TEL:+1\r\n',
      'N:;;;;\r\n',
      ' x\r\n',
      ';',
      ',',
      '\\',
      '"',
      'X-A;B=C:D\r\n',
    ],
    wrap: card,
    read: (text) => readCard(parseCard(text)),
    refusals: [UnreadableCardError],
  },
  {
    name: 'search query',
    tokens: [
      'from:',
      'to:"',
      '"',
      '-',
      'OR',
      ' OR ',
      ' ',
      'is:unread',
      'older_than:9999999999y',
      'after:9999/99/99',
      '(',
      ')',
      '{',
      'x',
      'İ',
      'ﷺ',
      '\0',
      '\ud800',
      ':',
      '::',
      '*',
      '&',
      '|',
      '!',
      '<->',
      "'",
      '\\',
    ],
    fragments: ['a ', '"', 'a OR ', '-', 'from:a ', '" "', ':', '(', 'İ', "'", '\\', 'e\u0301'],
    read: (text) => parseSearchQuery(text, new Date(0)),
    most: 1_000,
  },
  {
    name: 'autoconfig XML',
    tokens: [
      '<clientConfig version="1.1">',
      '<emailProvider id="x">',
      '<incomingServer type="imap">',
      '</incomingServer>',
      '<hostname>',
      '</hostname>',
      '<!DOCTYPE x [<!ENTITY e "eeee">]>',
      '&e;',
      '&lt;',
      '<![CDATA[',
      ']]>',
      '<?xml version="1.0"?>',
      '<',
      '>',
      '"',
      '&',
      '\0',
      'x',
      '<!--',
      '-->',
    ],
    fragments: [
      '<a>',
      '<hostname>x</hostname>',
      '<incomingServer type="imap"></incomingServer>',
      '&lt;',
      '<!--x-->',
      '<![CDATA[x]]>',
      'x',
      ' a="b"',
      '<',
    ],
    wrap: (inner) =>
      `<clientConfig version="1.1"><emailProvider id="x">${inner}</emailProvider></clientConfig>`,
    read: (text) => parseAutoconfig(text),
    refusals: [AutoconfigError],
  },
  {
    name: 'recurrence rules',
    tokens: [
      'RRULE:',
      'EXDATE:',
      'EXDATE;TZID=Europe/Berlin:',
      'FREQ=DAILY',
      'FREQ=SECONDLY',
      'FREQ=YEARLY',
      ';',
      ',',
      'BYDAY=MO',
      'BYDAY=+53MO',
      'BYSETPOS=-366',
      'BYMONTHDAY=31',
      'BYMONTH=2',
      'BYHOUR=0',
      'BYSECOND=60',
      'COUNT=0',
      'COUNT=99999999',
      'INTERVAL=999999999',
      'UNTIL=99991231T235959Z',
      'WKST=SU',
      '20300101T100000Z',
      '\n',
      '=',
      '-',
    ],
    fragments: [
      'RRULE:FREQ=DAILY\n',
      'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\n',
      'RRULE:FREQ=SECONDLY;COUNT=500\n',
      'EXDATE:20300101T100000Z\n',
      'RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE;BYSETPOS=-1\n',
    ],
    wrap: (inner) => `RRULE:FREQ=WEEKLY\n${inner}`,
    read: (text) => {
      const when = {
        object: 'timespan',
        start_time: 1_900_000_000,
        end_time: 1_900_003_600,
      } as const;
      const series = new Series({
        when,
        recurrence: { rrule: text.split('\n').filter(Boolean), timezone: 'Europe/Berlin' },
      });
      return series.between(1_900_000_000_000, 1_930_000_000_000);
    },
    refusals: [InvalidRecurrenceError, TooManyOccurrencesError],
    // A request may contain ten rules.
    most: 1_000,
  },
  {
    name: 'raw MIME to be sent',
    tokens: [
      'From: a@x.test\r\n',
      'From: b@x.test, a@x.test\r\n',
      'Bcc: c@x.test\r\n',
      ' folded\r\n',
      'Message-ID: <x@y>\r\n',
      'Date: x\r\n',
      '\r\n',
      '\n',
      '\r',
      ':',
      '"',
      '(',
      '<',
      '@',
      ',',
      '\0',
      'é',
      '=?utf-8?q?a?=',
    ],
    fragments: [
      'Bcc: c@x.test\r\n',
      ' x\r\n',
      'X: y\r\n',
      'From: a@x.test,',
      '"',
      '(',
      '<',
      '@',
      ',',
      '\r',
      '\n',
    ],
    wrap: (inner) => `From: a@x.test\r\n${inner}`,
    read: (text) =>
      prepareRaw(Buffer.from(text), {
        from: { email: 'a@x.test', name: 'A' },
        messageIdHeader: '<m@x.test>',
        date: new Date(0),
      }),
    refusals: [InvalidInputError],
  },
  {
    name: 'cursors and ids of instances',
    // prettier-ignore
    tokens: [ '0', '-', 'z', '_', 'T', 'Z', '20300101', '019aa1b2-0000-7000-8000-00000000dead', '{', '"', ':', '[', ']', '}', 'null', '"folders"', '__proto__', '\0', '\ud800', ],
    fragments: ['0', '-', 'z', '[', '{"a":', '_', '"'],
    read: (text) => [fromCursor('x', text), decodeCursor(text), readInstanceId(text)],
  },
];
