import { fileURLToPath } from 'node:url';
import { ObjectSweep } from '../../src/mail/messages/objects/object-sweep.ts';
import { startProgram } from '../support/npm-script.ts';
import { BodyWorld, longText } from '../support/object-store/body-world.ts';
import type { TestAccount } from '../support/factories.ts';
import { until } from '../support/until.ts';

const CARILLON = fileURLToPath(new URL('../../dist/src/cli/carillon.js', import.meta.url));
const KEY = `test:${Buffer.alloc(32, 1).toString('base64')}`;
const NEVER = new AbortController().signal;
const MESSAGES = 30;
const TEXTS = Array.from({ length: MESSAGES }, (_, index) => longText(`message ${index}`));

describe('carillon objects move', () => {
  const world = new BodyWorld();
  let ada: TestAccount;

  beforeAll(async () => {
    await world.open({ OBJECTS_WRITE: 'false' });
    ada = await world.account();
    await world.receive(ada, ...TEXTS);
  }, 120_000);
  afterAll(() => world.close());

  const move = (to: 'objects' | 'database') =>
    startProgram(process.execPath, [CARILLON, 'objects', 'move', '--to', to], {
      NODE_ENV: 'test',
      DATABASE_URL: world.server.database.url,
      ENCRYPTION_KEYS: KEY,
      OBJECTS_URL: world.stub.url(),
      OBJECTS_WRITE: String(to === 'objects'),
    });
  const moved = async (to: 'objects' | 'database') => {
    const { code, output } = await move(to).ended;
    expect({ code, output }).toMatchObject({ code: 0 });
  };
  /** Kills a command that waits for the answer to its n-th request of a kind, which is done. */
  const killedAt = async (to: 'objects' | 'database', method: string, after: number) => {
    world.stub.faults.add({
      match: (request) => request.method === method,
      after,
      times: 1_000,
      answer: 'none',
      until: new Promise(() => undefined),
    });
    const before = world.stub.requests.length;
    const { child, ended } = move(to);
    await until('the requests', async () => world.stub.requests.length > before + after);
    child.kill('SIGKILL');
    await ended;
    world.stub.faults.clear();
  };

  it('loses nothing if it is killed between storing objects and naming them, and goes on', async () => {
    await killedAt('objects', 'PUT', 20);
    expect(world.keys(ada).length).toBeGreaterThanOrEqual(20);
    expect(await world.places(ada)).toEqual({ objects: 0, database: MESSAGES });
    expect(await world.bodies(ada)).toEqual(TEXTS.toSorted());
    await moved('objects');
    expect(await world.places(ada)).toEqual({ objects: MESSAGES, database: 0 });
    expect(await world.bodies(ada)).toEqual(TEXTS.toSorted());

    const sweep = world.app.get(ObjectSweep);
    for (const days of [0, 31]) {
      await world.clock.pass(days * 24 * 3_600_000);
      await sweep.runBriefly(NEVER);
    }
    expect(world.keys(ada)).toHaveLength(MESSAGES);
    expect(await world.bodies(ada)).toEqual(TEXTS.toSorted());
  });

  it('moves bodies back, also after it was killed, while messages come and change', async () => {
    await killedAt('database', 'GET', 10);
    expect(await world.places(ada)).toEqual({ objects: MESSAGES, database: 0 });
    const writing = world.receive(ada, longText('new'));
    const [id = ''] = (await world.api(ada, 'get', '/messages?view=ids')).body as string[];
    const changing = world.api(ada, 'put', `/messages/${id}`, { starred: true }).expect(200);
    await Promise.all([moved('database'), writing, changing]);
    expect(await world.places(ada)).toEqual({ objects: 0, database: MESSAGES + 1 });
    expect(await world.bodies(ada)).toEqual([...TEXTS, longText('new')].toSorted());
  });

  it('refuses a direction in which the workers do not move, and says what is missing', async () => {
    const refused = await startProgram(
      process.execPath,
      [CARILLON, 'objects', 'move', '--to', 'database'],
      {
        NODE_ENV: 'test',
        DATABASE_URL: world.server.database.url,
        ENCRYPTION_KEYS: KEY,
        OBJECTS_URL: world.stub.url(),
      },
    ).ended;
    expect(refused.code).not.toBe(0);
    expect(refused.output).toContain('OBJECTS_WRITE: must be false');
  });
});
