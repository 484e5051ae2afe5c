import { nearestName } from './nearest-name.ts';

const KNOWN = ['unread', 'starred', 'view', 'limit', 'calendar_id', 'received_before'];

describe('nearestName', () => {
  it.each([
    ['unred', 'unread'],
    ['unraed', 'unread'],
    ['UNREAD', 'unread'],
    ['calendarId', 'calendar_id'],
    ['calender_id', 'calendar_id'],
    ['limits', 'limit'],
    ['recieved_before', 'received_before'],
    ['veiw', 'view'],
  ])('finds for %s the name %s', (name, nearest) => {
    expect(nearestName(name, KNOWN)).toBe(nearest);
  });

  it.each(['', 'x', 'folder', 'includeTypes', 'x'.repeat(10_000)])(
    'finds nothing for %.20s, which resembles no known name',
    (name) => {
      expect(nearestName(name, KNOWN)).toBeUndefined();
    },
  );

  it('finds nothing if no name is known', () => {
    expect(nearestName('unread', [])).toBeUndefined();
  });
});
