import { FaultWorld } from '../support/fault-world.ts';
import { Fleet } from '../support/fleet.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';
import { WebhookStorm } from '../support/webhook-storm.ts';

/** Number of events; the whole storm has 50000. */
const EVENTS = Number(process.env['WEBHOOK_STORM'] ?? sized(3_000, 50_000));
const ENDPOINTS = 20;
const ACCOUNTS = 50;
const PER_TRANSACTION = 5;
const KILL_EVERY_MS = 1_000;
const HEALTHY_MS = 300_000;
/** Deliveries whose success is stored twice: a stored one must never be repeated. */
const STORED_TWICE = `
  select count(*)::int as n from (
    select from webhook_attempt where outcome = 'delivered'
    group by webhook_id, event_id having count(*) > 1) twice`;
/** A breaker that was stopped for its longest time tests its endpoint five minutes later. */
const RECOVERY_MS = 400_000;

describe('two servers that are killed every second while they deliver events', () => {
  let world: FaultWorld;
  let storm: WebhookStorm;
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    world = await FaultWorld.start({ accounts: 1, deliver: false });
    storm = await WebhookStorm.start(world.environment, {
      endpoints: ENDPOINTS,
      accounts: ACCOUNTS,
    });
  });
  afterAll(async () => {
    await fleet?.endKilling();
    await storm.close();
    await world.close();
  });

  it(
    'deliver every event of each account in order, to broken endpoints after they recovered',
    async () => {
      fleet = await Fleet.start(world, 2);
      const healthy = storm.endpoints.filter(({ broken }) => !broken);
      const broken = storm.endpoints.filter((endpoint) => endpoint.broken);
      const begun = performance.now();
      fleet.beginKilling(KILL_EVERY_MS);
      await storm.record(EVENTS, PER_TRANSACTION);
      const recorded = performance.now();
      const complete = (endpoints: typeof healthy) => () =>
        Promise.resolve(endpoints.every((endpoint) => storm.missing(endpoint) === 0));
      await until('the healthy endpoints to get everything', complete(healthy), HEALTHY_MS);
      const delivered = performance.now();
      await fleet.endKilling();
      const server = fleet.next();
      if (!server) throw new Error('no server is up');
      await storm.mend(server.url);
      await until('the broken endpoints to get everything', complete(broken), RECOVERY_MS);
      const inboxes = storm.endpoints.map(({ name, inbox }) => ({ name, inbox }));
      const repeated = inboxes.reduce((sum, { inbox }) => sum + inbox.repeated, 0);
      const seconds = (from: number, to: number) => Math.round((to - from) / 100) / 10;
      process.stdout.write(
        `\n${JSON.stringify({
          kills: fleet.kills,
          events: EVENTS,
          deliveries: EVENTS * ENDPOINTS,
          requests: inboxes.reduce((sum, { inbox }) => sum + inbox.requests, 0),
          repeated,
          repeatedPerKill: Math.round(repeated / fleet.kills),
          repeatedShare: repeated / (EVENTS * ENDPOINTS),
          recordedAfter: seconds(begun, recorded),
          healthyAfter: seconds(begun, delivered),
          recoveredAfter: seconds(delivered, performance.now()),
        })}\n`,
      );
      const wrong = inboxes.flatMap(({ name, inbox: { disordered, gaps } }) =>
        disordered > 0 || gaps > 0 ? [{ name, disordered, gaps }] : [],
      );
      expect(wrong).toEqual([]);
      expect(await world.count(STORED_TWICE)).toBe(0);
      expect(fleet.kills).toBeGreaterThan(0);
    },
    HEALTHY_MS + RECOVERY_MS + 120_000,
  );
});
