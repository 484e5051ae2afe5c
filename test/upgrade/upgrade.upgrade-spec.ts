import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { secret } from '../support/log-watch.ts';
import { Receiver } from '../support/receiver.ts';
import { type Program, releaseBefore, thisRelease } from '../support/release-before.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { createEmptyTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const BO = 'bo@example.test';
const SPAN_PRINTER = new URL('../support/span-printer.mjs', import.meta.url).href;

/** What must become of a message. */
interface Expected {
  subject: string;
  cancelled: boolean;
}

/** The release before and this one, on one database (docs/upgrading.md). */
describe('an upgrade', () => {
  const messages = new Map<string, Expected>();
  let before: Program;
  let now: Program;
  let database: TestDatabase;
  let environment: Record<string, string>;
  let receiver: Receiver;
  let sql: SqlPool;
  let bearer: { authorization: string };
  const running = new Set<ServerProcess>();

  beforeAll(async () => {
    [before, now] = [await releaseBefore(), thisRelease()];
    database = await createEmptyTestDatabase();
    environment = {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
      EGRESS_ALLOW: '127.0.0.0/8',
    };
    sql = new SqlPool({
      url: database.url,
      max: 1,
      statementTimeoutMs: 30_000,
      applicationName: 'test',
    });
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    for (const server of running) await server.kill();
    await receiver.stop();
    await sql.close();
    await database.drop();
  });

  async function start(program: Program, nodeArguments: string[] = []): Promise<ServerProcess> {
    const server = await startServerProcess(environment, { entry: program.entry, nodeArguments });
    running.add(server);
    return server;
  }
  async function stop(server: ServerProcess): Promise<void> {
    running.delete(server);
    expect(await server.stop()).toBe(0);
  }

  /** Creates an application with a webhook and an account, through the public interfaces. */
  async function connect(server: ServerProcess): Promise<void> {
    const printed = await before.command(
      'carillon',
      ['--json', 'application', 'create', '--name=Upgrade'],
      environment,
    );
    const made = JSON.parse(printed) as { client_id: string; client_secret: string };
    secret('client secret', made.client_secret);
    const client = request(server.url);
    await client
      .post('/connect/integrations')
      .auth(made.client_id, made.client_secret)
      .send({ name: 'Sandbox', provider: 'sandbox', settings: {} })
      .expect(200);
    const settings = { email: 'ada@sandbox.test', password: 'a-password', sample_messages: false };
    const { body: grant } = await client
      .post('/connect/grants')
      .auth(made.client_id, made.client_secret)
      .send({ provider: 'sandbox', settings })
      .expect(200);
    bearer = { authorization: `Bearer ${(grant.data as { access_token: string }).access_token}` };
    await client
      .post(`/a/${made.client_id}/webhooks`)
      .auth(made.client_secret, '')
      .send({
        callback_url: `${receiver.origin}/hook`,
        triggers: ['job.successful'],
        state: 'active',
      })
      .expect(200);
  }

  async function accept(server: ServerProcess, inSeconds = 0): Promise<string> {
    const subject = `message ${messages.size + 1}.`;
    const send_at = Math.floor(Date.now() / 1000) + inSeconds;
    const { body } = await request(server.url)
      .post('/v2/outbox')
      .set(bearer)
      .send({ to: [{ email: BO }], subject, ...(inSeconds > 0 ? { send_at } : {}) })
      .expect(202);
    messages.set(body.job_status_id, { subject, cancelled: false });
    return body.job_status_id as string;
  }
  async function edit(server: ServerProcess, id: string): Promise<void> {
    const subject = `edited ${messages.get(id)?.subject}`;
    await request(server.url).patch(`/v2/outbox/${id}`).set(bearer).send({ subject }).expect(200);
    messages.set(id, { subject, cancelled: false });
  }
  async function cancel(server: ServerProcess, id: string): Promise<void> {
    await request(server.url).delete(`/v2/outbox/${id}`).set(bearer).expect(200);
    messages.set(id, { subject: messages.get(id)?.subject ?? '', cancelled: true });
  }
  /** Each server accepts messages; the next one edits and cancels some of them. */
  async function exchange(servers: ServerProcess[], rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const [one, other] = [0, 1].map((step) => servers[(round + step) % servers.length]);
      if (!one || !other) throw new Error('no server');
      await Promise.all([accept(one), accept(other)]);
      await edit(other, await accept(one, 30));
      await cancel(other, await accept(one, 30));
    }
    // The edited ones go out now; any worker may claim them.
    await sql.query('update send_job set run_at = now(), due_at = now() where run_at > now()');
  }
  const allEnded = () =>
    until('all jobs and deliveries to end', async () => {
      const [open] = await sql.query<{ jobs: number; hooks: number }>(
        `select (select count(*)::int from send_job) as jobs, (select count(*)::int from hook_job) as hooks`,
      );
      return open?.jobs === 0 && open.hooks === 0;
    });

  it('loses and doubles nothing while both releases run, and after going back and forth', async () => {
    await before.command('migrate', [], environment);
    const old = await start(before);
    await connect(old);
    await exchange([old], 2);
    const waiting = await accept(old, 3);

    await now.command('migrate', [], environment);
    const young = await start(now, ['--import', SPAN_PRINTER]);
    await exchange([old, young], 6);
    await allEnded();

    // Back: messages that the new release accepted, with its new columns, are sent by the old one.
    const later = await Promise.all([accept(young, 2), accept(young, 2), accept(young, 60)]);
    await stop(young);
    const again = await start(before);
    await edit(again, later[2] ?? '');
    await exchange([old, again], 3);
    await allEnded();

    // Forth: what the old release accepted is sent by the new one.
    const left = await accept(again, 2);
    await Promise.all([stop(old), stop(again)]);
    const last = await start(now);
    await exchange([last], 1);
    await allEnded();
    await stop(last);
    expect([waiting, left].every((id) => messages.has(id))).toBe(true);
  });

  it('sends each message once, in its last version, and none that was cancelled', async () => {
    expect(messages.size).toBeGreaterThan(40);
    const sent = await sql.query<{ id: string; status: string; copies: number; right: number }>(
      `select s.id, s.status, count(m.id)::int as copies,
         count(*) filter (where position(convert_to('Subject: ' || x.subject, 'utf8') in m.mime) > 0)::int as right
       from unnest($1::uuid[], $2::text[]) x(id, subject) join job_status s on s.id = x.id
         join outbox_message o on o.id = s.id
         left join sandbox_message m on m.address = $3 and 'inbox' = any(m.folders)
           and position(convert_to(o.message_id_header, 'utf8') in m.mime) > 0
       group by s.id, s.status`,
      [[...messages.keys()], [...messages.values()].map(({ subject }) => subject), BO],
    );
    const wrong = sent.filter(({ id, status, copies, right }) =>
      messages.get(id)?.cancelled
        ? status !== 'cancelled' || copies !== 0
        : status !== 'successful' || copies !== 1 || right !== 1,
    );
    expect(wrong).toEqual([]);
    expect(sent).toHaveLength(messages.size);
  });

  it('notifies the application once of each sent message', () => {
    const events = new Map<string, Set<string>>();
    for (const { body, headers } of receiver.posted) {
      const { deltas } = JSON.parse(String(body)) as {
        deltas: { event_id?: string; object_data: { attributes: { job_status_id: string } } }[];
      };
      for (const delta of deltas) {
        const id = delta.object_data.attributes.job_status_id;
        // The release before sends one event in each delivery, with its id in the header.
        const event = delta.event_id ?? String(headers['webhook-id']);
        events.set(id, (events.get(id) ?? new Set()).add(event));
      }
    }
    const sent = [...messages].flatMap(([id, { cancelled }]) => (cancelled ? [] : [id]));
    expect(sent.filter((id) => events.get(id)?.size !== 1)).toEqual([]);
    expect([...events.keys()].filter((id) => messages.get(id)?.cancelled)).toEqual([]);
  });
});
