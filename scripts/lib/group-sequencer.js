import { createRequire } from 'node:module';

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer');
const isGroup = ({ path }) => path.includes('/test/.groups/');

/**
 * Runs groups in the order of their names, after files that are not in a group. Without groups,
 * Jest decides the order.
 */
export default class GroupSequencer extends Sequencer {
  sort(tests) {
    const sorted = super.sort([...tests]);
    const groups = sorted.filter(isGroup).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    return [...sorted.filter((test) => !isGroup(test)), ...groups];
  }
}
