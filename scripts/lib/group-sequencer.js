import { createRequire } from 'node:module';

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer');
const isGroup = ({ path }) => path.includes('/test/.groups/');

/**
 * Storms that take longest, the longest first. Jest would order them by the size of their files. All
 * others take less than half a minute.
 */
const LONGEST = [
  'long/kill',
  'long/bad-input',
  'long/quarantine',
  'patient/pauses',
  'long/database',
  'long/remote-servers',
  'long/reminder',
  'long/mail-server',
  'long/requests',
  'long/neighbours',
  'long/parsers',
];
/** Groups that start for each two storms: storms start many processes, groups mostly wait. */
const GROUPS_PER_TWO = 3;

/**
 * Mixes groups, in the order of their names, with storms (the files of test/faults and test/long),
 * so that about half of the tests that run at a time are storms. The short storms come last and fill
 * the processors while the last groups end. Without groups, the storms run in their own order and
 * Jest decides the order of other files.
 */
export default class GroupSequencer extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = LONGEST.findIndex((name) => path.includes(`/${name}`));
      return place === -1 ? LONGEST.length : place;
    };
    const sorted = super.sort([...tests]).toSorted((a, b) => rank(a) - rank(b));
    const groups = sorted.filter(isGroup).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const storms = sorted.filter((test) => !isGroup(test));
    const place = new Map([
      ...groups.map((test, index) => [test, (index * 2) / GROUPS_PER_TWO]),
      ...storms.map((test, index) => [test, index]),
    ]);
    return [...groups, ...storms].toSorted((a, b) => place.get(a) - place.get(b));
  }
}
