import { isDeepStrictEqual } from 'node:util';
import type { EventFields } from '../event-store/event-record.ts';
import type { Participant } from '../event-store/event-values.ts';

/** What participants are told: that they take part, that something has changed, or that it does not take place for them. */
export const INVITATION_KINDS = ['invite', 'update', 'cancel'] as const;
export type InvitationKind = (typeof INVITATION_KINDS)[number];

/** METHOD of each (RFC 5546 3.2). */
export const METHODS = {
  invite: 'REQUEST',
  update: 'REQUEST',
  cancel: 'CANCEL',
} as const satisfies Record<InvitationKind, string>;

/** The part of an event that participants know of. */
type Known = Pick<
  EventFields,
  'title' | 'description' | 'location' | 'when' | 'recurrence' | 'conferencing' | 'participants'
>;

/** One write of an event. */
export interface EventChange {
  /** Null: it is new. */
  before: Known | null;
  after: Known;
  /** Whether it does not take place any more. */
  cancelled: boolean;
}

/** What one kind of message says to whom. */
export interface PlannedInvitations {
  kind: InvitationKind;
  recipients: readonly Participant[];
}

const differs = (before: Known, after: Known, names: readonly (keyof Known)[]): boolean =>
  names.some((name) => !isDeepStrictEqual(before[name], after[name]));

/** Whether everybody who takes part has to see the event anew for what has changed in it. */
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
 * Who is told what of a change: those who are new are invited, those who are not there any more get a cancellation, the
 * others an update where something has changed that they see. The account itself is told nothing.
 * @param own address of the account
 */
export function planInvitations(change: EventChange, own: string): PlannedInvitations[] {
  const { before, after, cancelled } = change;
  const others = (list: readonly Participant[]) =>
    list.filter(({ email }) => email.toLowerCase() !== own.toLowerCase());
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
 * The participants of an event that is moved, when they are told of it: who has answered for another time is asked anew.
 * Answers that come with the change itself stay, and so does the account's own.
 * @param own address of the account
 */
export function askedAnew(before: Known, after: Known, own: string): Participant[] {
  if (!differs(before, after, ['when', 'recurrence'])) return after.participants;
  return after.participants.map((one) => {
    const then = before.participants.find(({ email }) => email === one.email);
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
 * Whether a change makes a new SEQUENCE (RFC 5546 2.1.4): when times or rules have changed or the event was cancelled, also
 * where nobody is told; and with every update or cancellation that is told. Inviting somebody makes none: the answers of
 * the others stay good.
 * @param plan what is told of it
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
