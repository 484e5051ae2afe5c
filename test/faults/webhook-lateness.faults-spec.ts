import { FaultWorld } from '../support/fault-world.ts';
import { Fleet } from '../support/fleet.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';
import { WebhookStorm } from '../support/webhook-storm.ts';

/** Events a second. Each goes to every endpoint. */
const RATE = Number(process.env['WEBHOOK_RATE'] ?? sized(50, 250));
const ENDPOINTS = 20;
const ACCOUNTS = 50;
const MEASURED_MS = sized(10_000, 60_000);
/** Until then the breakers of the broken endpoints have stopped. */
const SETTLING_MS = 15_000;
const KILL_EVERY_MS = 1_000;
const LIMIT_MS = 120_000;

describe('two servers that deliver a steady stream of events beside broken endpoints', () => {
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
    'deliver every event in order to each healthy endpoint, without kills and with kills',
    async () => {
      fleet = await Fleet.start(world, 2);
      const healthy = storm.endpoints.filter(({ broken }) => !broken);
      const measure = async (what: string, forMs: number) => {
        for (const { inbox } of healthy) inbox.lateness = [];
        await storm.recordEvenly(RATE, forMs);
        await until(
          'the healthy endpoints to get everything',
          () => Promise.resolve(healthy.every((endpoint) => storm.missing(endpoint) === 0)),
          LIMIT_MS,
        );
        const figures = { what, kills: fleet?.kills, rate: RATE, ...latenessOf(healthy) };
        process.stdout.write(`\n${JSON.stringify(figures)}\n`);
      };
      await measure('until breakers have stopped', SETTLING_MS);
      await measure('no kills', MEASURED_MS);
      fleet.beginKilling(KILL_EVERY_MS);
      await measure('kills', MEASURED_MS);
      const wrong = healthy.flatMap(({ name, inbox: { disordered, gaps } }) =>
        disordered > 0 || gaps > 0 ? [{ name, disordered, gaps }] : [],
      );
      expect(wrong).toEqual([]);
      expect(fleet.kills).toBeGreaterThan(0);
    },
    SETTLING_MS + 2 * MEASURED_MS + 3 * LIMIT_MS,
  );
});

/** Percentiles of the time from commit to arrival at all endpoints, in seconds. */
function latenessOf(endpoints: WebhookStorm['endpoints']) {
  const all = endpoints.flatMap(({ inbox }) => inbox.lateness).sort((a, b) => a - b);
  const at = (share: number) => Math.round(all[Math.floor((all.length - 1) * share)] ?? 0) / 1000;
  const repeated = endpoints.reduce((sum, { inbox }) => sum + inbox.repeated, 0);
  return {
    deliveries: all.length,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    max: at(1),
    repeated,
  };
}
