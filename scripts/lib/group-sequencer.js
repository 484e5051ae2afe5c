import { createRequire } from 'node:module';

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer');
const isGroup = ({ path }) => path.includes('/test/.groups/');

/**
 * Storms that take longest, the longest first. Jest would order them by the size of their files. All
 * others take less than half a minute.
 */
const LONGEST = [
  'long/kill',
  'long/quarantine',
  'faults/pauses',
  'long/database',
  'long/remote-servers',
  'long/reminder',
  'long/mail-server',
  'long/neighbours',
  'long/parsers',
];
/**
 * Runs groups in the order of their names, after files that are not in a group; and storms (the
 * files of test/faults and test/long) longest first, so that short ones fill the processors at the
 * end. Jest decides the order of other files.
 */
export default class GroupSequencer extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = LONGEST.findIndex((name) => path.includes(`/${name}`));
      return place === -1 ? LONGEST.length : place;
    };
    const sorted = super.sort([...tests]).toSorted((a, b) => rank(a) - rank(b));
    const groups = sorted.filter(isGroup).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    return [...sorted.filter((test) => !isGroup(test)), ...groups];
  }
}
