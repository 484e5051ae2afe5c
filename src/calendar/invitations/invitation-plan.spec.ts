import type { Participant } from '../event-store/event-values.ts';
import { askedAnew, type EventChange, planInvitations, raisesSequence } from './invitation-plan.ts';

const OWN = 'ada@example.test';
const person = (email: string, more: Partial<Participant> = {}): Participant => ({
  email, name: '', status: 'noreply', comment: null, phone_number: null, ...more,
}); // prettier-ignore
const [BO, CY] = [person('bo@example.test'), person('cy@example.test')];

type Known = EventChange['after'];
const event = (more: Partial<Known> = {}): Known => ({
  title: 'Review', description: '', location: '', when: { object: 'time', time: 1_900_000_000 }, recurrence: null,
  conferencing: null, participants: [BO, CY], ...more,
}); // prettier-ignore
const change = (
  before: Partial<Known> | null,
  after: Partial<Known>,
  cancelled = false,
): EventChange => ({
  before: before && event(before),
  after: event(after),
  cancelled,
});

/** `kind: addresses` of each group, and whether SEQUENCE grows. */
function told(one: EventChange): [string[], boolean] {
  const plan = planInvitations(one, OWN);
  const groups = plan.map(
    ({ kind, recipients }) => `${kind}: ${recipients.map(({ email }) => email[0])}`,
  );
  return [groups, raisesSequence(one, plan)];
}

describe('whom a change of an event is told', () => {
  it.each<[string, EventChange, string[], boolean]>([
    ['everybody is invited to a new event', change(null, {}), ['invite: b,c'], false],
    ['nobody is where nobody takes part', change(null, { participants: [] }), [], false],
    ['the account itself is told nothing, however it is spelled', change(null, { participants: [person('ADA@example.test'), BO] }), ['invite: b'], false],
    ['who is new is invited; the answers of the others stay good', change({ participants: [BO] }, {}), ['invite: c'], false],
    ['who is not there any more gets a cancellation', change({}, { participants: [BO] }), ['cancel: c'], true],
    ['who takes the place of another is invited while that one is told', change({ participants: [BO] }, { participants: [CY] }), ['invite: c', 'cancel: b'], true],
    ['the title is seen by all', change({}, { title: 'Retro' }), ['update: b,c'], true],
    ['so is the description', change({}, { description: 'x' }), ['update: b,c'], true],
    ['so is the place', change({}, { location: 'x' }), ['update: b,c'], true],
    ['so is the time', change({}, { when: { object: 'time', time: 1_900_000_060 } }), ['update: b,c'], true],
    ['so are rules', change({}, { recurrence: { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' } }), ['update: b,c'], true],
    ['so is how to join', change({}, { conferencing: { provider: 'WebEx', details: { url: 'https://meet.test/1' } } }), ['update: b,c'], true],
    ['three kinds go together', change({ participants: [BO] , location: 'x' }, { participants: [CY, person('di@example.test'), BO] }), ['invite: c,d', 'update: b'], true],
    ['answers and names are not told', change({}, { participants: [person(BO.email, { status: 'yes', name: 'Bo', comment: 'x' }), CY] }), [], false],
    ['nothing has changed', change({}, {}), [], false],
    ['a cancellation goes to all that are left', change({}, { title: 'Retro' }, true), ['cancel: b,c'], true],
    ['an event nobody takes part in is a new revision all the same', change({ participants: [] }, { participants: [] }, true), [], true],
  ])('%s', (_rule, one, groups, raises) => {
    expect(told(one)).toEqual([groups, raises]);
  }); // prettier-ignore

  it('counts other times as a revision where nobody is told, and other words not', () => {
    expect(raisesSequence(change({}, { when: { object: 'date', date: '2030-01-01' } }), [])).toBe(
      true,
    );
    expect(raisesSequence(change({}, { title: 'Retro' }), [])).toBe(false);
  });
});

describe('answers of a meeting that is moved', () => {
  const yes = { status: 'yes', comment: 'gladly' } as const;
  const before = event({ participants: [person(OWN, yes), person(BO.email, yes), CY] });
  const moved = { when: { object: 'date', date: '2030-01-01' } } as const;

  it('are asked for anew, but the account’s own', () => {
    expect(askedAnew(before, { ...before, ...moved }, OWN)).toEqual([person(OWN, yes), BO, CY]);
  });

  it('stay where they come with the change', () => {
    const participants = [BO, person(CY.email, yes)];
    expect(askedAnew(before, event({ ...moved, participants }), OWN)).toEqual(participants);
  });

  it('stay where other things are changed', () => {
    expect(askedAnew(before, { ...before, title: 'Retro' }, OWN)).toBe(before.participants);
  });
});
