import type { Participant } from '../events/event-values.ts';
import {
  resetResponses,
  type EventChange,
  planInvitations,
  raisesSequence,
} from './invitation-plan.ts';

const OWN = 'ada@example.test';
const person = (email: string, more: Partial<Participant> = {}): Participant => ({
  email,
  name: '',
  status: 'noreply',
  comment: null,
  phone_number: null,
  ...more,
});
const [BO, CY] = [person('bo@example.test'), person('cy@example.test')];

type Known = EventChange['after'];
const event = (more: Partial<Known> = {}): Known => ({
  title: 'Review',
  description: '',
  location: '',
  when: { object: 'time', time: 1_900_000_000 },
  recurrence: null,
  conferencing: null,
  participants: [BO, CY],
  ...more,
});
const change = (
  before: Partial<Known> | null,
  after: Partial<Known>,
  cancelled = false,
): EventChange => ({
  before: before && event(before),
  after: event(after),
  cancelled,
});

/** `kind: addresses` of each group, and whether SEQUENCE is raised. */
function planned(one: EventChange): [string[], boolean] {
  const plan = planInvitations(one, OWN);
  const groups = plan.map(
    ({ kind, recipients }) => `${kind}: ${recipients.map(({ email }) => email[0])}`,
  );
  return [groups, raisesSequence(one, plan)];
}

describe('participants notified of a change', () => {
  it.each<[string, EventChange, string[], boolean]>([
    ['a new event invites all participants', change(null, {}), ['invite: b,c'], false],
    ['an event without participants notifies no one', change(null, { participants: [] }), [], false],
    ['the account itself is never notified, in upper or lower case', change(null, { participants: [person('ADA@example.test'), BO] }), ['invite: b'], false],
    ['a new participant is invited; the responses of the others stay valid', change({ participants: [BO] }, {}), ['invite: c'], false],
    ['a removed participant gets a cancellation', change({}, { participants: [BO] }), ['cancel: c'], true],
    ['a replaced participant gets a cancellation, and the new one an invitation', change({ participants: [BO] }, { participants: [CY] }), ['invite: c', 'cancel: b'], true],
    ['a changed title updates all participants', change({}, { title: 'Retro' }), ['update: b,c'], true],
    ['a changed description updates all participants', change({}, { description: 'x' }), ['update: b,c'], true],
    ['a changed location updates all participants', change({}, { location: 'x' }), ['update: b,c'], true],
    ['a changed time updates all participants', change({}, { when: { object: 'time', time: 1_900_000_060 } }), ['update: b,c'], true],
    ['a changed recurrence updates all participants', change({}, { recurrence: { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' } }), ['update: b,c'], true],
    ['changed conferencing details update all participants', change({}, { conferencing: { provider: 'WebEx', details: { url: 'https://meet.test/1' } } }), ['update: b,c'], true],
    ['one change can cause invitations and updates together', change({ participants: [BO] , location: 'x' }, { participants: [CY, person('di@example.test'), BO] }), ['invite: c,d', 'update: b'], true],
    ['changed responses and names notify no one', change({}, { participants: [person(BO.email, { status: 'yes', name: 'Bo', comment: 'x' }), CY] }), [], false],
    ['a write that changes nothing notifies no one', change({}, {}), [], false],
    ['a deleted event sends cancellations to the remaining participants', change({}, { title: 'Retro' }, true), ['cancel: b,c'], true],
    ['deleting an event without participants raises SEQUENCE', change({ participants: [] }, { participants: [] }, true), [], true],
  ])('%s', (_rule, one, groups, raises) => {
    expect(planned(one)).toEqual([groups, raises]);
  }); // oxfmt-ignore

  it('without notifications, raises SEQUENCE for a changed time but not for changed text', () => {
    expect(raisesSequence(change({}, { when: { object: 'date', date: '2030-01-01' } }), [])).toBe(
      true,
    );
    expect(raisesSequence(change({}, { title: 'Retro' }), [])).toBe(false);
  });
});

describe('responses to a meeting whose time changes', () => {
  const yes = { status: 'yes', comment: 'gladly' } as const;
  const before = event({ participants: [person(OWN, yes), person(BO.email, yes), CY] });
  const moved = { when: { object: 'date', date: '2030-01-01' } } as const;

  it('are reset, except that of the account itself', () => {
    expect(resetResponses(before, { ...before, ...moved }, OWN)).toEqual([
      person(OWN, yes),
      BO,
      CY,
    ]);
  });

  it('stay if the change itself sets them', () => {
    const participants = [BO, person(CY.email, yes)];
    expect(resetResponses(before, event({ ...moved, participants }), OWN)).toEqual(participants);
  });

  it('stay if only other fields change', () => {
    expect(resetResponses(before, { ...before, title: 'Retro' }, OWN)).toBe(before.participants);
  });
});
