import { offsetMs } from '../../platform/base/time/time-zone.ts';
import type { When } from '../events/event-values.ts';
import { conferenceLines, type ShownEvent } from '../events/ics/ics-writer.ts';
import type { InvitationKind } from './invitation-plan.ts';

/**
 * The human-readable part of a mail about an event. Calendar programs read the attached calendar
 * file.
 */
export interface InvitationText {
  subject: string;
  text: string;
  html: string;
}

const SUBJECTS = {
  invite: 'Invitation',
  update: 'Updated invitation',
  cancel: 'Cancelled',
} as const satisfies Record<InvitationKind, string>;

const SENTENCES = {
  invite: (who: string) => `${who} invites you to this event.`,
  update: (who: string) => `${who} has changed this event.`,
  cancel: (who: string) => `${who} has cancelled this event or removed you from it.`,
} as const satisfies Record<InvitationKind, (who: string) => string>;

/** Longest description in characters that the mail repeats; the calendar file has all of it. */
const MOST_DESCRIPTION = 4_000;

/**
 * The text of a mail about an event, in English.
 * @param zone time zone for times that have none of their own
 * @param isInstance true if the event is an instance of a series
 */
export function invitationText(
  kind: InvitationKind,
  event: ShownEvent,
  organizer: { email: string; name: string },
  { zone, isInstance }: { zone: string; isInstance: boolean },
): InvitationText {
  const title = event.title.trim() || 'Untitled event';
  const conference = kind === 'cancel' ? [] : conferenceLines(event);
  const lines = [
    ['What', title],
    ['When', whenText(event, zone)],
    ...(event.recurrence ? [['Repeats', rulesText(event.recurrence.rrule)]] : []),
    ...(isInstance ? [['Note', 'This message is about a single occurrence of a series.']] : []),
    ...(event.location ? [['Where', event.location]] : []),
    ...(conference.length > 0 ? [['Join', conference.join('\n')]] : []),
    ['Organizer', organizer.name ? `${organizer.name} <${organizer.email}>` : organizer.email],
  ] as [string, string][];
  const description = shortened(event.description.trim());
  const sentence = SENTENCES[kind](organizer.name || organizer.email);
  return {
    subject: `${SUBJECTS[kind]}: ${title}`,
    text: [
      sentence,
      '',
      ...lines.map(([name, value]) => `${name}: ${value}`),
      ...(description ? ['', description] : []),
      '',
    ].join('\n'),
    html: htmlOf(sentence, lines, description),
  };
}

function htmlOf(sentence: string, lines: readonly [string, string][], description: string): string {
  const rows = lines.map(
    ([name, value]) =>
      `<tr><th align="left" valign="top" style="padding-right:12px">${escaped(name)}</th><td>${escaped(value)}</td></tr>`,
  );
  return [
    `<p>${escaped(sentence)}</p>`,
    `<table cellpadding="2" cellspacing="0">${rows.join('')}</table>`,
    ...(description ? [`<p>${escaped(description)}</p>`] : []),
  ].join('\n');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign).replaceAll(/\r\n?|\n/g, '<br>');

const shortened = (text: string): string =>
  text.length > MOST_DESCRIPTION ? `${text.slice(0, MOST_DESCRIPTION).toWellFormed()} …` : text;

const DAY = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

function whenText({ when, recurrence }: ShownEvent, calendarZone: string): string {
  switch (when.object) {
    case 'date':
      return `${DAY.format(Date.parse(when.date))}, all day`;
    case 'datespan':
      return `${DAY.format(Date.parse(when.start_date))} – ${DAY.format(Date.parse(when.end_date))}, all day`;
    default:
      return timeText(when, recurrence?.timezone ?? calendarZone);
  }
}

function timeText(when: Extract<When, { object: 'time' | 'timespan' }>, zone: string): string {
  const [start, end, own] =
    when.object === 'time'
      ? [when.time, when.time, when.timezone]
      : [when.start_time, when.end_time, when.start_timezone];
  const shown = own ?? zone;
  const wall = (seconds: number) => seconds * 1000 + offsetMs(shown, seconds * 1000);
  const [from, to] = [wall(start), wall(end)];
  const begin = `${DAY.format(from)}, ${CLOCK.format(from)}`;
  if (start === end) return `${begin} (${shown})`;
  const sameDay = DAY.format(from) === DAY.format(to);
  return `${begin} – ${sameDay ? '' : `${DAY.format(to)}, `}${CLOCK.format(to)} (${shown})`;
}

const EVERY: Record<string, string> = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
};

/** The frequency of a series in words; the calendar file has the full rules. */
function rulesText(lines: readonly string[]): string {
  const rule = lines.find((line) => /^RRULE:/i.test(line)) ?? '';
  const unit = EVERY[/FREQ=(\w+)/i.exec(rule)?.[1]?.toUpperCase() ?? ''];
  if (!unit) return 'yes';
  const interval = Number(/INTERVAL=(\d+)/i.exec(rule)?.[1] ?? 1);
  return interval > 1 ? `every ${interval} ${unit}s` : `every ${unit}`;
}
