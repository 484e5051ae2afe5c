import { isDeepStrictEqual } from 'node:util';
import type { IcalFields } from '../../formats/ical/ical-fields.ts';
import type { InstanceId } from '../../formats/ical/ical-read.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import type { Participant, When } from '../event-store/event-values.ts';
import type { ProviderFields } from '../event-store/event-columns.ts';
import type { MailedEvent } from '../event-store/mailed-events.ts';
import { fieldsOf, storableContent } from '../event-store/event-plan.ts';
import type { ItipEvent, ItipMessage } from '../../formats/ical/itip.ts';
import {
  compareRevisions,
  type Revision,
  type SeenReplies,
  standingOf,
} from '../../formats/ical/revisions.ts';

/*
 * What mails do to a meeting that somebody else has organized. Pure: `MailedInvitations` reads and writes.
 */

/** What mails have said of one event of a meeting, as it is stored (`MeetingState`). */
export interface PartState extends Revision {
  sender: string | null;
  trusted: boolean;
  cancelled: boolean;
  replies: SeenReplies;
}

/** The series of a meeting, one of its instances, or a meeting that takes place once. */
export interface MeetingPart {
  /** `InstanceId.key`; empty: the series, or the only one. */
  instance: string;
  state: PartState | null;
  event: MailedEvent | null;
  /** What happens to the event. */
  change: 'none' | 'created' | 'updated' | 'linked' | 'cancelled' | 'removed';
}

/** Everything that mails have said of a UID of an organizer. */
export interface Meeting {
  key: string;
  uid: string;
  organizer: { email: string; name: string | null };
  parts: Map<string, MeetingPart>;
  /** It is in a calendar of the account's provider: mail does not change it there. */
  elsewhere: boolean;
}

/** A mail with what counts of it here. */
export interface InvitingMail {
  messageId: string;
  /** The address in From, lower case; null: not known for certain (`senderOf`). */
  sender: string | null;
  /** Of the account that has received it. */
  account: string;
}

/** As many as the API takes. */
const MOST_PARTICIPANTS = 500;
const MOST_RULES = 500;

/**
 * Follows a mail of the organizer (REQUEST, ADD or CANCEL): revisions that are older than what is known, and mails of
 * people who have no say in it, change nothing.
 */
export function follow(
  meeting: Meeting,
  mail: InvitingMail,
  { method, events }: ItipMessage,
): void {
  if (method === 'reply') return;
  const known = [...meeting.parts.values()].flatMap(({ state }) => state ?? []);
  const source = { sender: mail.sender, organizer: meeting.organizer.email };
  const first = known[0] && {
    sender: known[0].sender,
    trusted: known.some(({ trusted }) => trusted),
  };
  const standing = standingOf(source, first ?? null);
  if (standing === 'ignored') return;
  const turn: Turn = {
    meeting,
    mail,
    method,
    outranks: standing === 'outranks',
    followed: new Set(),
  };
  for (const event of events) {
    if (event.organizer?.email !== meeting.organizer.email) continue;
    const instance = method === 'add' ? addedInstance(event) : event.instance;
    if (method !== 'add' || (instance && meeting.parts.get('')?.state))
      followOne(turn, event, instance);
  }
  tieTogether(meeting, mail);
}

interface Turn {
  meeting: Meeting;
  mail: InvitingMail;
  method: 'request' | 'add' | 'cancel';
  outranks: boolean;
  /** Instances that the mail tells of. */
  followed: Set<string>;
}

/** One more instance of a series has no place in its rule: when it begins is its name. */
function addedInstance({ fields }: ItipEvent): InstanceId | null {
  if (!fields) return null;
  const seconds = fieldsOf({ ...fields }, 'UTC').startsAt.getTime() / 1000;
  return { key: stampOf(seconds, fields.when), seconds };
}

function stampOf(seconds: number, when: When): string {
  const stamp = new Date(seconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return 'date' in when || 'start_date' in when ? stamp.slice(0, 8) : stamp;
}

function followOne(turn: Turn, said: ItipEvent, instance: InstanceId | null): void {
  const { meeting, mail, method, outranks } = turn;
  const part = partOf(meeting, instance?.key ?? '');
  const series = instance ? meeting.parts.get('')?.state : null;
  turn.followed.add(part.instance);
  const age = part.state && !outranks ? compareRevisions(said, part.state) : 1;
  const overtaken = Boolean(series && !outranks && isOvertaken(said, series));
  if (age <= 0 || overtaken) {
    // A cancellation may come before what it cancels.
    const cancelled = part.state?.cancelled || series?.cancelled;
    if (method !== 'cancel' && !part.event && cancelled && said.fields)
      show(turn, part, { ...said.fields, status: 'cancelled' }, instance);
    else if (part.event && age === 0) note(part, mail);
    if (overtaken && !part.state) part.state = stateOf(turn, said, part, Boolean(cancelled));
    return;
  }
  if (method === 'cancel') {
    part.state = stateOf(turn, said, part, true);
    for (const one of instance ? [part] : meeting.parts.values()) cancel(one, meeting);
    if (!part.event && instance && said.fields)
      show(turn, part, { ...said.fields, status: 'cancelled' }, instance);
    return;
  }
  if (!said.fields) return;
  part.state = stateOf(turn, said, part, said.fields.status === 'cancelled');
  const before = part.event?.fields;
  show(turn, part, said.fields, instance);
  if (!instance && before && part.event && movesSeries(before, part.event.fields)) turn.meeting.parts.forEach((one) => dropOld(turn, one, said)); // prettier-ignore
}

/** What was said of an instance before its series was changed or cancelled as a whole. */
function isOvertaken(said: Revision, series: PartState): boolean {
  if (series.cancelled) return compareRevisions(said, series) < 0;
  return said.sequence < series.sequence && (said.stamp ?? 0) < (series.stamp ?? 0);
}

function partOf({ parts }: Meeting, instance: string): MeetingPart {
  const known = parts.get(instance);
  if (known) return known;
  const part: MeetingPart = { instance, state: null, event: null, change: 'none' };
  parts.set(instance, part);
  return part;
}

function stateOf({ meeting, mail }: Turn, said: ItipEvent, { state }: MeetingPart, cancelled: boolean): PartState {
  const { sequence, stamp } = said;
  const trusted = mail.sender === meeting.organizer.email;
  return { sequence, stamp, sender: mail.sender, trusted, cancelled, replies: state?.replies ?? {} };
} // prettier-ignore

/** The event looks as the mail says. */
function show({ meeting, mail }: Turn, part: MeetingPart, said: IcalFields, instance: InstanceId | null): void {
  if (meeting.elsewhere) {
    if (part.event) note(part, mail);
    return;
  }
  const before = part.event?.fields;
  const fields = mirrored(instance ? { ...said, recurrence: null } : said, before, mail.account);
  if (!part.event) {
    part.event = {
      id: newId(),
      fields,
      messageId: mail.messageId,
      masterEventId: null,
      originalStart: instance && new Date(instance.seconds * 1000),
    };
    part.change = 'created';
    return;
  }
  part.event.messageId = mail.messageId;
  if (isDeepStrictEqual(before, fields)) return mark(part, 'linked');
  part.event.fields = fields;
  mark(part, before?.status !== 'cancelled' && fields.status === 'cancelled' ? 'cancelled' : 'updated');
} // prettier-ignore

/** Something greater that happens to it in the same batch stays. */
function mark(part: MeetingPart, change: MeetingPart['change']): void {
  if (part.change !== 'created' && (change !== 'linked' || part.change === 'none'))
    part.change = change;
}

/** The event is known from another copy of the mail. */
function note(part: MeetingPart, mail: InvitingMail): void {
  if (!part.event || part.event.messageId !== null) return;
  part.event.messageId = mail.messageId;
  mark(part, 'linked');
}

function cancel(part: MeetingPart, { elsewhere }: Meeting): void {
  if (part.state) part.state = { ...part.state, cancelled: true };
  const { event } = part;
  if (!event || elsewhere || event.fields.status === 'cancelled') return;
  event.fields = { ...event.fields, status: 'cancelled' };
  mark(part, 'cancelled');
}

/** Whether instances are others than before. */
function movesSeries(before: ProviderFields, after: ProviderFields): boolean {
  return (
    before.startsAt.getTime() !== after.startsAt.getTime() ||
    !isDeepStrictEqual(before.recurrence?.rrule, after.recurrence?.rrule)
  );
}

/** A change of an instance of the series as it was. */
function dropOld({ followed }: Turn, part: MeetingPart, series: Revision): void {
  if (part.instance === '' || followed.has(part.instance) || !part.state || !part.event) return;
  if ((part.state.stamp ?? 0) < (series.stamp ?? 0))
    part.change = part.change === 'created' ? 'none' : 'removed';
  if (part.change === 'none') part.event = null;
}

/** Instances belong to their series, also where that came later; those that were cancelled before it are left out of it. */
function tieTogether(meeting: Meeting, mail: InvitingMail): void {
  const series = meeting.parts.get('')?.event;
  if (!series || meeting.elsewhere) return;
  for (const part of meeting.parts.values()) {
    if (part.instance === '' || part.change === 'removed') continue;
    if (!part.event && part.state?.cancelled) part.event = leftOut(series, part, mail);
    if (!part.event || part.event.masterEventId === series.id) continue;
    part.event.masterEventId = series.id;
    mark(part, 'updated');
  }
}

const STAMP = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/;

/** An instance that does not take place, of which nothing else is known. */
function leftOut(
  series: MailedEvent,
  part: MeetingPart,
  { messageId }: InvitingMail,
): MailedEvent | null {
  const [year = NaN, month = NaN, day = NaN, hour = 0, minute = 0, second = 0] =
    STAMP.exec(part.instance)
      ?.slice(1)
      .map((text) => Number(text ?? 0)) ?? [];
  const startMs = Date.UTC(year, month - 1, day, hour, minute, second);
  if (Number.isNaN(startMs)) return null;
  part.change = 'created';
  const when = movedTo(series.fields.when, startMs);
  const fields = fieldsOf({ ...series.fields, when, recurrence: null, status: 'cancelled' }, 'UTC');
  return {
    id: newId(),
    fields,
    messageId,
    masterEventId: series.id,
    originalStart: new Date(startMs),
  };
}

/** The same length at another time. */
function movedTo(when: When, startMs: number): When {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const seconds = startMs / 1000;
  switch (when.object) {
    case 'time':
      return { ...when, time: seconds };
    case 'timespan':
      return { ...when, start_time: seconds, end_time: seconds + when.end_time - when.start_time };
    case 'date':
      return { ...when, date: day(startMs) };
    case 'datespan': {
      const length = Date.parse(when.end_date) - Date.parse(when.start_date);
      return { ...when, start_date: day(startMs), end_date: day(startMs + length) };
    }
  }
}

/** The fields of an event as a mail says them: bounded, storable, and with what the account has answered already. */
function mirrored(
  said: IcalFields,
  before: ProviderFields | undefined,
  account: string,
): ProviderFields {
  const content = storableContent({
    ...said,
    // Alarms are everybody's own.
    reminders: null,
    recurrence: said.recurrence && {
      ...said.recurrence,
      rrule: said.recurrence.rrule.slice(0, MOST_RULES),
    },
  });
  const fields = fieldsOf(content, 'UTC');
  return { ...fields, participants: participantsOf(fields, before, account) };
}

function participantsOf(
  fields: ProviderFields,
  before: ProviderFields | undefined,
  account: string,
): Participant[] {
  const own = fields.participants.find(({ email }) => email === account);
  const others = fields.participants.filter((one) => one !== own).slice(0, MOST_PARTICIPANTS - 1);
  if (!own) return others;
  const answered = before?.participants.find(({ email }) => email === account);
  // The organizer may not have read our answer yet; at another time it is asked for anew.
  const keeps = own.status === 'noreply' && answered && isSameTime(fields, before);
  const one = keeps ? { ...own, status: answered.status, comment: answered.comment } : own;
  return fields.participants.flatMap((each) =>
    each === own ? [one] : others.includes(each) ? [each] : [],
  );
}

function isSameTime(a: ProviderFields, b: ProviderFields | undefined): boolean {
  return (
    b !== undefined &&
    isDeepStrictEqual(a.when, b.when) &&
    isDeepStrictEqual(a.recurrence, b.recurrence)
  );
}

const AUTHENTICATION = /^authentication-results:.*(?:\r?\n[ \t].*)*/gim;

/**
 * Whose mail it is: the one address in From, lower case. Null when there are several, or when a server on its way has found
 * that it did not come from there (DMARC, RFC 8601); whoever writes such a field himself only harms himself.
 */
export function senderOf(
  from: readonly { email: string }[],
  headers: string | null,
): string | null {
  const [only, ...more] = new Set(from.map(({ email }) => email.toLowerCase()));
  const results = headers?.match(AUTHENTICATION) ?? [];
  const isForged = results.some((result) => /\bdmarc\s*=\s*fail\b/i.test(result));
  return only === undefined || more.length > 0 || isForged ? null : only;
}

/** A name or text of a mail as it can be stored; empty: null. */
export function storedText(text: string | null | undefined, most: number): string | null {
  return storable(text ?? '', most) || null;
}
