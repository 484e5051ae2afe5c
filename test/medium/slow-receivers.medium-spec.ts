import { createApplication } from '../support/factories.ts';
import { eventIds, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook, recordEvent } from '../support/webhook-fixture.ts';

/** Together they have more deliveries due than a process makes at the same time. */
const WEBHOOKS = 14;
const EVENTS = 16;

describe('many webhooks whose receivers do not answer', () => {
  let server: TestApp;
  let silent: Receiver;
  let prompt: Receiver;
  /** Events that wait for an answer, now and at most. */
  let [open, most] = [0, 0];

  beforeAll(async () => {
    server = await startTestApp();
    [silent, prompt] = await Promise.all([Receiver.start(), Receiver.start()]);
    silent.behave = (response, request) => {
      const { length } = eventIds([request]);
      most = Math.max(most, (open += length));
      response.on('close', () => (open -= length));
    };
  });
  afterAll(async () => {
    await Promise.all([silent.stop(), prompt.stop()]);
    await server.close();
  });

  it('leave slots for the webhooks of another application', async () => {
    const [hanging, healthy] = [
      await createApplication(server.app),
      await createApplication(server.app),
    ];
    for (let n = 0; n < WEBHOOKS; n += 1)
      await createWebhook(server.app, hanging, `${silent.origin}/${n}`);
    await createWebhook(server.app, healthy, prompt.origin);
    // One by one: events of one moment share a row, and are delivered one after the other.
    for (let n = 0; n < EVENTS; n += 1) await recordEvent(server.app, hanging);
    await until(
      'the silent receivers to have their share',
      async () => eventIds(silent.posted).length > 80,
    );
    for (let n = 0; n < 5; n += 1) await recordEvent(server.app, healthy);
    await until(
      'the deliveries of the other application',
      async () => eventIds(prompt.posted).length === 5,
    );
    // Its events came last. Without shares, the others would have had all 192 deliveries first.
    expect(most).toBeLessThanOrEqual(96 + WEBHOOKS);
  });
});
