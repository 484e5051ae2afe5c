import { isDeepStrictEqual } from 'node:util';
import type { EventFields } from '../events/event-record.ts';
import { type Participant, participantKey, withAddress } from '../events/event-values.ts';

/** Kinds of messages to participants: an invitation, an update, or a cancellation. */
export const INVITATION_KINDS = ['invite', 'update', 'cancel'] as const;
export type InvitationKind = (typeof INVITATION_KINDS)[number];

/** The iTIP METHOD of each kind (RFC 5546 3.2). */
export const METHODS = {
  invite: 'REQUEST',
  update: 'REQUEST',
  cancel: 'CANCEL',
} as const satisfies Record<InvitationKind, string>;

/** The fields of an event that participants see. */
type Known = Pick<
  EventFields,
  'title' | 'description' | 'location' | 'when' | 'recurrence' | 'conferencing' | 'participants'
>;

/** One write of an event. */
export interface EventChange {
  /** The event before the write; `null` if the event is new. */
  before: Known | null;
  after: Known;
  /** True if the event was cancelled or deleted. */
  cancelled: boolean;
}

/** One kind of message and its recipients. */
export interface PlannedInvitations {
  kind: InvitationKind;
  recipients: readonly Participant[];
}

const differs = (before: Known, after: Known, names: readonly (keyof Known)[]): boolean =>
  names.some((name) => !isDeepStrictEqual(before[name], after[name]));

/** True if a field has changed that all participants see. */
function isRevised({ before, after }: EventChange): boolean {
  return (
    before !== null &&
    differs(before, after, [
      'title',
      'description',
      'location',
      'when',
      'recurrence',
      'conferencing',
    ])
  );
}

/**
 * Decides which participants are notified of a change by mail. If the event was cancelled or
 * deleted, all its participants get a cancellation. Otherwise new participants get an invitation
 * and removed ones a cancellation; the others get an update if a field that they see has changed.
 * The account itself is never notified, and neither are participants without an address. Call it
 * only if the caller asked for notifications (`notify_participants`).
 * @param own address of the account
 */
export function planInvitations(change: EventChange, own: string): PlannedInvitations[] {
  const { before, after, cancelled } = change;
  const others = (list: readonly Participant[]) =>
    withAddress(list).filter(({ email }) => email.toLowerCase() !== own.toLowerCase());
  const now = others(after.participants);
  if (cancelled) return planned([['cancel', now]]);
  const then = others(before?.participants ?? []);
  const isIn = (list: readonly Participant[], email: string) =>
    list.some((one) => one.email === email);
  return planned([
    ['invite', now.filter(({ email }) => !isIn(then, email))],
    ['update', isRevised(change) ? now.filter(({ email }) => isIn(then, email)) : []],
    ['cancel', then.filter(({ email }) => !isIn(now, email))],
  ]);
}

/**
 * The participants after a change of the event's time. Responses to the earlier time are reset.
 * Responses set by the change itself stay, and so does the account's own.
 * @param own address of the account
 */
export function resetResponses(before: Known, after: Known, own: string): Participant[] {
  if (!differs(before, after, ['when', 'recurrence'])) return after.participants;
  return after.participants.map((one) => {
    const then = before.participants.find((other) => participantKey(other) === participantKey(one));
    const stays = one.email.toLowerCase() === own.toLowerCase() || then?.status !== one.status;
    return stays ? one : { ...one, status: 'noreply', comment: null };
  });
}

function planned(
  groups: readonly [InvitationKind, readonly Participant[]][],
): PlannedInvitations[] {
  return groups.flatMap(([kind, recipients]) =>
    recipients.length > 0 ? [{ kind, recipients }] : [],
  );
}

/**
 * True if a change must raise SEQUENCE (RFC 5546 2.1.4). A cancellation, or a changed time or
 * recurrence, always raises SEQUENCE, even if no participant is notified. So does every change that
 * sends an update or a cancellation. An invitation alone does not: the responses of the other
 * participants stay valid.
 * @param plan messages that the change sends
 */
export function raisesSequence(change: EventChange, plan: readonly PlannedInvitations[]): boolean {
  const { before, after, cancelled } = change;
  if (!before) return false;
  return (
    cancelled ||
    differs(before, after, ['when', 'recurrence']) ||
    plan.some(({ kind }) => kind !== 'invite')
  );
}
