import { type LoggedChange, rollUp } from './roll-up.ts';

/** `create a` is a change of message a; numbers grow from 1. */
const page = (...lines: string[]): LoggedChange[] =>
  lines.map((line, index) => {
    const [event, objectId = '', object = 'message'] = line.split(' ');
    return { seq: index + 1, at: 0, object, objectId, event } as LoggedChange;
  });
const rolled = (...lines: string[]) =>
  rollUp(page(...lines)).map(
    ({ event, objectId, readTo }) => `${event} ${objectId}, read to ${readTo?.seq ?? 'nothing'}`,
  );

describe('rollUp', () => {
  it.each([
    [['create a', 'modify a', 'modify a'], 'create a'],
    [['modify a', 'modify a'], 'modify a'],
    [['create a', 'delete a'], 'delete a'],
    [['modify a', 'delete a'], 'delete a'],
    [['delete a', 'create a'], 'create a'],
  ])('makes one of %j: %s', (lines, event) => {
    expect(rolled(...lines)).toEqual([`${event}, read to ${lines.length}`]);
  });

  it('keeps kinds with the same id apart', () => {
    expect(rolled('delete a draft', 'create a message')).toEqual([
      'delete a, read to 1',
      'create a, read to 2',
    ]);
  });

  it('stands where the last change was, and reads on from before what comes later in the page', () => {
    expect(rolled('create a', 'create b', 'modify a')).toEqual([
      'create b, read to nothing',
      'create a, read to 3',
    ]);
    expect(rolled('create a', 'create b', 'create c', 'modify b')).toEqual([
      'create a, read to 1',
      'create c, read to 1',
      'create b, read to 4',
    ]);
  });

  it('lets nobody miss a change who stops after any delta and reads on from its cursor', () => {
    for (let round = 0; round < 200; round += 1) {
      const ids = Array.from(
        { length: 12 },
        (_, index) => 'abcde'[(index * (round + 3) * 7 + round) % 5],
      );
      const changes = page(...ids.map((id) => `modify ${id}`));
      const deltas = rollUp(changes);
      for (const [stop, { readTo }] of deltas.entries()) {
        const told = new Set(deltas.slice(0, stop + 1).map(({ objectId }) => objectId));
        const comes = new Set(
          changes.filter(({ seq }) => seq > (readTo?.seq ?? 0)).map(({ objectId }) => objectId),
        );
        expect(ids.filter((id) => !told.has(id ?? '') && !comes.has(id ?? ''))).toEqual([]);
      }
      expect(deltas.at(-1)?.readTo?.seq).toBe(changes.length);
    }
  });

  it('makes nothing of nothing', () => {
    expect(rollUp([])).toEqual([]);
  });
});
