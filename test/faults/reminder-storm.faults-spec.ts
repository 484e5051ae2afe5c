import { FaultWorld } from '../support/fault-world.ts';
import { addFaultFigures } from '../support/fault-table.ts';
import { Fleet } from '../support/fleet.ts';
import { countStorm, percentile } from '../support/reminder-record.ts';
import { ReminderStorm } from '../support/reminder-storm.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

/**
 * 100000 is the whole storm, due within ten minutes. Without this variable the storm is small
 * enough for CI.
 */
const WHOLE = process.env['REMINDER_STORM'];
const REMINDERS = Number(WHOLE ?? sized(500, 1_000));
const PER_EVENT = 10;
const DUE_SECONDS = WHOLE ? 600 : sized(6, 12);
const KILL_EVERY_MS = Number(
  process.env['REMINDER_STORM_KILL_MS'] ?? (WHOLE ? 5_000 : sized(3_000, 4_000)),
);
const RECOVERY_MS = 180_000;

describe('two servers, one of which is killed repeatedly while reminders leave and their events change', () => {
  let world: FaultWorld;
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 50, deliver: false });
    if (WHOLE) await world.invariants.end();
  });
  afterAll(async () => {
    await fleet?.endKilling();
    await world.close();
  });

  it(
    'send each wanted reminder once, and no withdrawn reminder',
    async () => {
      fleet = await Fleet.start(world, 2, {
        SMS_GATEWAY: 'http',
        SMS_HTTP_URL: `${world.receiver.origin}/texts`,
      });
      const events = REMINDERS / PER_EVENT;
      const storm = new ReminderStorm(world, fleet, {
        events,
        seconds: DUE_SECONDS,
        changesPerSecond: 10,
      });
      await storm.seed();
      const begun = Date.now();
      fleet.beginKilling(KILL_EVERY_MS);
      await storm.change();
      await fleet.endKilling();
      await until(
        'every reminder to have a final status',
        async () => (await world.count('select count(*) as n from reminder_job')) === 0,
        RECOVERY_MS,
      );
      await storm.collectMail();
      const count = countStorm(storm.histories, storm.fires);
      const { latenessMs, missing, doubled, forbidden, stale } = count;
      const [p50, p99] = [percentile(latenessMs, 0.5), percentile(latenessMs, 0.99)];
      const { move, cancel, text, remove, decline } = storm.changes;
      process.stdout.write(
        `\n${JSON.stringify({
          kills: fleet.kills,
          killedForSeconds: Math.round((storm.dueUntil - begun) / 1000),
          changes: storm.changes,
          wanted: count.wanted,
          fired: count.fired,
          missing: missing.length,
          doubled: doubled.length,
          forbidden: forbidden.length,
          stale: stale.length,
          repeated: count.repeated,
          onTheirWay: count.onTheirWay,
          onTheirWayMs: count.onTheirWayMs,
          lateness: {
            p50,
            p90: percentile(latenessMs, 0.9),
            p99,
            p999: percentile(latenessMs, 0.999),
            most: latenessMs.at(-1),
            overOneSecond: latenessMs.filter((late) => late > 1000).length,
          },
        })}\n`,
      );
      addFaultFigures({
        test: 'one of two servers killed while reminders leave and events change',
        faults: `${fleet.kills} kills, ${move} moved, ${cancel} cancelled, ${text + remove + decline} edited`,
        messages: count.wanted,
        accepted: storm.fires.length,
        lost: missing.length,
        doubled: doubled.length,
        doubledDocumented: count.repeated,
        resent: count.repeated,
        longestSeconds: Math.round((latenessMs.at(-1) ?? 0) / 100) / 10,
      });
      expect({ missing, doubled, forbidden, stale }).toEqual({
        missing: [],
        doubled: [],
        forbidden: [],
        stale: [],
      });
      expect(fleet.kills).toBeGreaterThan(0);
      // The stored statuses of emails agree with the emails sent. A text or webhook withdrawn while
      // its outcome was unknown cannot be checked.
      const reported = await world.sql.query<{ status: string; type: string; n: number }>(
        'select status, type, count(*) as n from reminder group by 1, 2',
      );
      const sent = reported.filter(({ status }) => status === 'sent');
      const mails = Map.groupBy(
        storm.fires,
        ({ slot, key, due }) => slot.startsWith('email') && `${key} ${due}`,
      );
      mails.delete(false);
      expect(sent.find(({ type }) => type === 'email')?.n).toBe(mails.size);
      expect(sent.reduce((sum, { n }) => sum + n, 0)).toBeLessThanOrEqual(count.fired);
      expect(
        reported
          .map(({ status }) => status)
          .filter((status) => status === 'scheduled' || status === 'failed'),
      ).toEqual([]);
      if (WHOLE) expect(p99).toBeLessThan(1_000);
    },
    (DUE_SECONDS + REMINDERS / PER_EVENT / 10) * 1_000 + RECOVERY_MS + 120_000,
  );
});
