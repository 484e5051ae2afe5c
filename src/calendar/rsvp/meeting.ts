import { isDeepStrictEqual } from 'node:util';
import type { IcalFields } from '../../formats/ical/ical-fields.ts';
import type { InstanceId } from '../../formats/ical/instance-id.ts';
import { endBefore } from '../../formats/recurrence/end-before.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { storable } from '../../platform/base/text/storable.ts';
import type { Participant, When } from '../events/event-values.ts';
import type { ProviderFields } from '../events/event-columns.ts';
import type { MailedEvent } from '../events/mailed/mailed-events.ts';
import { fieldsOf, storableContent } from '../events/mirror/event-plan.ts';
import {
  cancelledInstance,
  endsOf,
  followingKey,
  instanceWithin,
  matchInstances,
} from './meeting-instances.ts';
import type { ItipEvent, ItipMessage } from '../../formats/ical/itip.ts';
import {
  compareRevisions,
  type Revision,
  type SeenReplies,
  precedenceOf,
} from '../../formats/ical/revisions.ts';

/*
 * Applies mails to a meeting that somebody else organizes. These are pure functions;
 * `MailedInvitations` reads and writes.
 */

/** What mails have established about one event of a meeting, as stored in `MeetingState`. */
export interface PartState extends Revision {
  sender: string | null;
  trusted: boolean;
  cancelled: boolean;
  replies: SeenReplies;
}

/** One event of a meeting: a series, one of its instances, or a single event. */
export interface MeetingPart {
  /** `InstanceId.key` of an instance; empty for a series or a single event. */
  instance: string;
  state: PartState | null;
  event: MailedEvent | null;
  /** The change of the event that has to be stored. */
  change: 'none' | 'created' | 'updated' | 'linked' | 'cancelled' | 'removed';
}

/**
 * A meeting, identified by its UID and organizer, with everything that mails have established about
 * it.
 */
export interface Meeting {
  key: string;
  uid: string;
  organizer: { email: string; name: string | null };
  parts: Map<string, MeetingPart>;
  /**
   * True if the event is in a calendar of the account's provider. Mail does not change such an
   * event.
   */
  elsewhere: boolean;
}

/** The facts about a mail that decide what it may change. */
export interface InvitingMail {
  messageId: string;
  /** The author, in lower case; `null` if not known for certain (`authorshipOf`). */
  sender: string | null;
  /** Address of the account that has received the mail. */
  account: string;
}

/** Most participants of an event. The same limit as in the API. */
export const MOST_PARTICIPANTS = 500;
const MOST_RULES = 500;

/**
 * Applies a REQUEST, ADD or CANCEL to a meeting. Revisions older than the stored one change
 * nothing. Mail from senders who may not change the meeting changes nothing either (ADR 0044).
 * @returns the parts that the mail contains; none if its sender may not change the meeting
 */
export function applyMail(
  meeting: Meeting,
  mail: InvitingMail,
  { method, events }: ItipMessage,
): MeetingPart[] {
  if (method === 'reply') return [];
  const known = [...meeting.parts.values()].flatMap(({ state }) => state ?? []);
  const source = { sender: mail.sender, organizer: meeting.organizer.email };
  const first = known[0] && {
    sender: known[0].sender,
    trusted: known.some(({ trusted }) => trusted),
  };
  const standing = precedenceOf(source, first ?? null);
  if (standing === 'ignored') return [];
  const series = meeting.parts.get('')?.event?.fields;
  const contained = events
    .filter(({ organizer }) => organizer?.email === meeting.organizer.email)
    .map((event) => {
      const instance = method === 'add' ? addedInstance(event) : event.instance;
      return { event, instance: instance && series ? instanceWithin(instance, series) : instance };
    });
  const update: MailUpdate = {
    meeting,
    mail,
    method,
    outranks: standing === 'outranks',
    contained: new Set(contained.map(({ instance }) => instance?.key ?? '')),
  };
  for (const { event, instance } of contained) {
    if (method !== 'add' || (instance && meeting.parts.get('')?.state))
      followOne(update, event, instance);
  }
  matchInstances(meeting);
  linkInstances(meeting, mail);
  return [...update.contained].flatMap((instance) => meeting.parts.get(instance) ?? []);
}

interface MailUpdate {
  meeting: Meeting;
  mail: InvitingMail;
  method: 'request' | 'add' | 'cancel';
  outranks: boolean;
  /** Keys of the instances that the mail contains. */
  contained: ReadonlySet<string>;
}

/** An instance added to a series by ADD has no RECURRENCE-ID, so its own start becomes its key. */
function addedInstance({ fields }: ItipEvent): InstanceId | null {
  if (!fields) return null;
  const seconds = fieldsOf({ ...fields }, 'UTC').startsAt.getTime() / 1000;
  return { key: stampOf(seconds, fields.when), seconds };
}

function stampOf(seconds: number, when: When): string {
  const stamp = new Date(seconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return 'date' in when || 'start_date' in when ? stamp.slice(0, 8) : stamp;
}

function followOne(update: MailUpdate, received: ItipEvent, instance: InstanceId | null): void {
  const { meeting, mail, method, outranks } = update;
  const endsSeries = instance !== null && method === 'cancel' && received.andFollowing;
  const part = partOf(meeting, endsSeries ? followingKey(instance) : (instance?.key ?? ''));
  const series = instance ? meeting.parts.get('')?.state : null;
  const age = part.state && !outranks ? compareRevisions(received, part.state) : 1;
  const overtaken = Boolean(series && !outranks && isOvertaken(received, series));
  if (age <= 0 || overtaken) {
    // A cancellation may have arrived before the invitation. The event is then created as
    // cancelled.
    const cancelled = part.state?.cancelled || series?.cancelled;
    if (method !== 'cancel' && !part.event && cancelled && received.fields)
      applyFields(
        update,
        part,
        { ...received, fields: { ...received.fields, status: 'cancelled' } },
        instance,
      );
    else if (part.event && age === 0) linkMail(part, mail);
    if (overtaken && !part.state) part.state = stateOf(update, received, part, Boolean(cancelled));
    return;
  }
  if (method === 'cancel') {
    part.state = stateOf(update, received, part, true);
    // `linkInstances` ends the series, which may arrive later.
    if (endsSeries) return;
    for (const one of instance ? [part] : meeting.parts.values()) cancel(one, meeting);
    if (!part.event && instance && received.fields)
      applyFields(
        update,
        part,
        { ...received, fields: { ...received.fields, status: 'cancelled' } },
        instance,
      );
    return;
  }
  if (!received.fields) return;
  part.state = stateOf(update, received, part, received.fields.status === 'cancelled');
  const before = part.event?.fields;
  applyFields(update, part, { ...received, fields: received.fields }, instance);
  if (!instance && before && part.event && changesTimes(before, part.event.fields))
    update.meeting.parts.forEach((one) => dropOutdated(update, one, received));
}

/**
 * Whether the revision of an instance is older than the last change or cancellation of its whole
 * series.
 */
function isOvertaken(received: Revision, series: PartState): boolean {
  if (series.cancelled) return compareRevisions(received, series) < 0;
  return received.sequence < series.sequence && (received.stamp ?? 0) < (series.stamp ?? 0);
}

function partOf({ parts }: Meeting, instance: string): MeetingPart {
  const known = parts.get(instance);
  if (known) return known;
  const part: MeetingPart = { instance, state: null, event: null, change: 'none' };
  parts.set(instance, part);
  return part;
}

function stateOf(
  { meeting, mail }: MailUpdate,
  received: ItipEvent,
  { state }: MeetingPart,
  cancelled: boolean,
): PartState {
  const { sequence, stamp } = received;
  const trusted = mail.sender === meeting.organizer.email;
  return {
    sequence,
    stamp,
    sender: mail.sender,
    trusted,
    cancelled,
    replies: state?.replies ?? {},
  };
}

/** Applies the fields in the mail to the event, or creates the event. */
function applyFields(
  { meeting, mail }: MailUpdate,
  part: MeetingPart,
  { fields: received, warnings }: ItipEvent & { fields: IcalFields },
  instance: InstanceId | null,
): void {
  if (meeting.elsewhere) {
    if (part.event) linkMail(part, mail);
    return;
  }
  const before = part.event?.fields;
  const fields = fieldsFromMail(
    instance ? { ...received, recurrence: null } : received,
    before,
    mail.account,
  );
  if (!part.event) {
    part.event = {
      id: newId(),
      fields,
      warnings,
      messageId: mail.messageId,
      masterEventId: null,
      originalStart: instance && new Date(instance.seconds * 1000),
    };
    part.change = 'created';
    return;
  }
  part.event.messageId = mail.messageId;
  part.event.warnings = warnings;
  if (isDeepStrictEqual(before, fields)) return mark(part, 'linked');
  part.event.fields = fields;
  mark(
    part,
    before?.status !== 'cancelled' && fields.status === 'cancelled' ? 'cancelled' : 'updated',
  );
}

/**
 * Records a change of the event. In one batch `created` is never replaced, and `linked` replaces
 * only `none`.
 */
function mark(part: MeetingPart, change: MeetingPart['change']): void {
  if (part.change !== 'created' && (change !== 'linked' || part.change === 'none'))
    part.change = change;
}

/** Links the event to this copy of the mail if the earlier copy was deleted. */
function linkMail(part: MeetingPart, mail: InvitingMail): void {
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

/** Ends a series before one of its starts (RFC 5546 3.2.5, RANGE=THISANDFUTURE). */
function endSeries(
  meeting: Meeting,
  first: MeetingPart,
  series: MailedEvent,
  startMs: number,
): void {
  const { when, recurrence } = series.fields;
  for (const part of meeting.parts.values())
    if ((part.event?.originalStart?.getTime() ?? -Infinity) >= startMs) cancel(part, meeting);
  const left = recurrence && endBefore({ when, recurrence }, startMs);
  if (!left) return cancel(first, meeting);
  if (isDeepStrictEqual(left, recurrence)) return;
  series.fields = { ...series.fields, recurrence: left };
  mark(first, 'updated');
}

/** Whether the start or the rules of the series have changed. */
function changesTimes(before: ProviderFields, after: ProviderFields): boolean {
  return (
    before.startsAt.getTime() !== after.startsAt.getTime() ||
    !isDeepStrictEqual(before.recurrence?.rrule, after.recurrence?.rrule)
  );
}

/**
 * Drops a changed instance after mail has changed the times of its series. An instance stays if the
 * same mail contains it, or if its last revision is not older than the mail's.
 */
function dropOutdated({ contained }: MailUpdate, part: MeetingPart, series: Revision): void {
  if (part.instance === '' || contained.has(part.instance) || !part.state || !part.event) return;
  if ((part.state.stamp ?? 0) >= (series.stamp ?? 0)) return;
  if (part.change === 'created') {
    part.change = 'none';
    part.event = null;
  } else part.change = 'removed';
}

/**
 * Links instances to their series, also if the series arrived later. Creates a cancelled instance
 * for each cancellation that arrived before the series.
 */
function linkInstances(meeting: Meeting, mail: InvitingMail): void {
  const first = meeting.parts.get('');
  const series = first?.event;
  if (!first || !series || meeting.elsewhere) return;
  for (const startMs of endsOf(meeting, first)) endSeries(meeting, first, series, startMs);
  for (const part of meeting.parts.values()) {
    if (part.instance === '' || part.change === 'removed') continue;
    if (!part.event && part.state?.cancelled) part.event = cancelledInstance(series, part, mail);
    if (!part.event || part.event.masterEventId === series.id) continue;
    part.event.masterEventId = series.id;
    mark(part, 'updated');
  }
}

/**
 * The fields of an event as the mail describes them, shortened to what can be stored, and with the
 * answer the account has already given.
 */
function fieldsFromMail(
  received: IcalFields,
  before: ProviderFields | undefined,
  account: string,
): ProviderFields {
  const content = storableContent({
    ...received,
    // Alarms in mail are the organizer's.
    reminders: null,
    recurrence: received.recurrence && {
      ...received.recurrence,
      rrule: received.recurrence.rrule.slice(0, MOST_RULES),
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
  // The organizer may not have seen the account's answer yet, so it is kept. After a change of
  // time, the account is asked again.
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

/** A name or text of a mail, shortened to `most` characters and storable; `null` if empty. */
export function storedText(text: string | null | undefined, most: number): string | null {
  return storable(text ?? '', most) || null;
}
