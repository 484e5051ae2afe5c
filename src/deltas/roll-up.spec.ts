import { type LoggedChange, rollUp } from './roll-up.ts';

/** `create a` stands for a change of message a; changes are numbered from 1. */
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
  ])('rolls %j up to: %s', (lines, event) => {
    expect(rolled(...lines)).toEqual([`${event}, read to ${lines.length}`]);
  });

  it('keeps objects of different types with the same id apart', () => {
    expect(rolled('delete a draft', 'create a message')).toEqual([
      'delete a, read to 1',
      'create a, read to 2',
    ]);
  });

  it("orders an object by its last change, and sets its cursor before later deltas' first changes", () => {
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

  it('loses no change for a client that stops after any delta and continues from its cursor', () => {
    for (let round = 0; round < 200; round += 1) {
      const ids = Array.from(
        { length: 12 },
        (_, index) => 'abcde'[(index * (round + 3) * 7 + round) % 5],
      );
      const changes = page(...ids.map((id) => `modify ${id}`));
      const deltas = rollUp(changes);
      for (const [stop, { readTo }] of deltas.entries()) {
        const received = new Set(deltas.slice(0, stop + 1).map(({ objectId }) => objectId));
        const remaining = new Set(
          changes.filter(({ seq }) => seq > (readTo?.seq ?? 0)).map(({ objectId }) => objectId),
        );
        expect(ids.filter((id) => !received.has(id ?? '') && !remaining.has(id ?? ''))).toEqual([]);
      }
      expect(deltas.at(-1)?.readTo?.seq).toBe(changes.length);
    }
  });

  it('returns nothing for an empty page', () => {
    expect(rollUp([])).toEqual([]);
  });
});
