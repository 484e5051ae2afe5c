import { createHmac } from 'node:crypto';
import request from 'supertest';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startProgram } from '../support/npm-script.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { recordEvents } from '../support/webhook-fixture.ts';

describe('carillon-api webhooks listen', () => {
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const start = (...args: string[]) =>
    startProgram(process.execPath, ['src/cli/carillon-api.ts', 'webhooks', 'listen', ...args], {
      CARILLON_API_URL: server.url,
      CARILLON_CLIENT_ID: application.clientId,
      CARILLON_CLIENT_SECRET: application.clientSecret,
    });
  const webhooks = async (): Promise<{ id: string }[]> =>
    (
      await request(server.url)
        .get(`/a/${application.clientId}/webhooks`)
        .set(application.secretBasic)
        .expect(200)
    ).body;

  it('forwards signed events, repeats them until a 2xx, and deletes its webhook at Ctrl-C', async () => {
    const receiver = await Receiver.start();
    receiver.answers.push({ status: 500 });
    const forward = `${receiver.origin}/hook`;
    const program = start(`--forward=${forward}`, '--trigger=job.failed');
    await program.printed(/Forwarding events/);
    await recordEvents(server.app, application, 2);
    await program.printed(/200 job\.failed/);
    const bodies = receiver.received.map(({ body }) => String(body));
    const ids = bodies.map((body) =>
      (JSON.parse(body) as { deltas: { event_id: string }[] }).deltas.map((one) => one.event_id),
    );
    expect(ids[1]).toEqual(ids[0]);
    for (const { headers, body } of receiver.received) {
      const hmac = createHmac('sha256', application.clientSecret);
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${String(body)}`;
      expect(headers['webhook-signature']).toBe(`v1,${hmac.update(signed).digest('base64')}`);
    }
    const [webhook] = await webhooks();
    await until('the acknowledgement', async () => {
      const { body } = await request(server.url)
        .get(`/a/${application.clientId}/webhooks/${webhook?.id}`)
        .set(application.secretBasic);
      return body.feed.waiting === 0;
    });
    program.child.kill('SIGINT');
    const { code, output } = await program.ended;
    expect([code, output]).toEqual([0, expect.stringContaining('Deleted webhook')]);
    expect(await webhooks()).toEqual([]);
    await receiver.stop();
  });

  it('says what is wrong with its flags', async () => {
    const { code, output } = await start('--forward=http://localhost:4000').ended;
    expect([code, output]).toEqual([expect.any(Number), expect.stringContaining('--trigger')]);
    expect(code).not.toBe(0);
    expect((await start('--forward=localhost', '--trigger=x').ended).output).toContain('--forward');
  });
});
