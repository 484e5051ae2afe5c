import { problemOf } from './standby-sessions.ts';

const position = { timeline: 2, bytes: 1_000 };
const facts = { standby: true, server: '7', timeline: 2, bytes: 900 };

describe('problemOf', () => {
  it('accepts a standby on the timeline of the primary, however far it has replayed', () => {
    expect(problemOf(facts, position, true)).toBeNull();
    expect(problemOf({ ...facts, bytes: 1_100 }, position, false)).toBeNull();
  });

  it('refuses a server that is no standby', () => {
    expect(problemOf({ ...facts, standby: false }, position, false)).toContain('is no standby');
  });

  it('refuses a standby on an older or a newer timeline, even if it has replayed more', () => {
    for (const timeline of [1, 3])
      expect(problemOf({ ...facts, timeline, bytes: 2_000 }, position, false)).toBe(
        `replays timeline ${timeline}, and the primary has timeline 2`,
      );
  });

  it('refuses a standby that had replayed what the primary writes only later', () => {
    expect(problemOf({ ...facts, bytes: 1_001 }, position, true)).toContain('rebuild it');
  });
});
