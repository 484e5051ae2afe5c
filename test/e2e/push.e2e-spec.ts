import request from 'supertest';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { PushProvider } from '../support/push-provider.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;

describe('changes that a provider reports', () => {
  let server: TestApp;
  let clock: PassingClock;
  let provider: PushProvider;
  let account: TestAccount;

  beforeAll(async () => {
    clock = new PassingClock();
    // Only notifications make changes appear, unless the test lets hours pass.
    const polls = { SYNC_POLL_SECONDS: '3600', SYNC_POLL_WATCHED_SECONDS: '7200' };
    server = await startTestApp({ ...polls, PUSH_URL: 'https://carillon.example.com' }, { clock });
    provider = await PushProvider.start(() => clock.now());
    provider.target = server.url;
    server.app.get(ConnectorRegistry).replace(provider.connector());
    account = await createAccount(server.app, await createApplication(server.app), {
      mirrored: true,
    });
    provider.calendars.set(account.email, ['work']);
    await until('the subscriptions', async () => provider.of(account.email).length === 2);
    await until('the subscriptions to be stored', async () => {
      const stored = 'select 1 from push_subscription where expires_at is not null';
      return (await rowsOf(server, stored)).length === 2;
    });
    // A new subscription is followed by a pass.
    await until('the passes', async () => provider.reads.length >= 4);
  });
  afterAll(async () => {
    await server.close();
    await provider.stop();
  });

  /** Waits until the subscriptions are stored and no pass runs or follows soon. */
  const calm = () =>
    until('the passes to end', async () => {
      const [{ stored, waiting } = { stored: 0, waiting: 0 }] = await rowsOf<{
        stored: number;
        waiting: number;
      }>(
        server,
        `select (select count(*) from push_subscription where expires_at > now()) as stored,
                (select count(*) from sync_job where state = 0 and not again and run_at > now() + interval '1 h') as waiting`,
      );
      return stored === 2 && waiting === 1;
    });
  const subjects = async (): Promise<string[]> => {
    const response = await request(server.url).get('/messages').set(account.bearer).expect(200);
    return (response.body as { subject: string }[]).map(({ subject }) => subject);
  };
  const titles = async (): Promise<string[]> => {
    const response = await request(server.url).get('/events').set(account.bearer).expect(200);
    return (response.body as { title: string }[]).map(({ title }) => title);
  };

  it('appear as soon as the provider has notified the server', async () => {
    provider.arrive(account.email, 'Minutes');
    expect(await provider.notify(account.email, 'mail')).toEqual([202]);
    await until('the message', async () => (await subjects()).includes('Minutes'));
    provider.plan('work', 'Review');
    expect(await provider.notify(account.email, 'calendar:work')).toEqual([202]);
    await until('the event', async () => (await titles()).includes('Review'));
    // The calendar was read a moment ago.
    provider.plan('work', 'Retrospective');
    expect(await provider.notify(account.email, 'calendar:work')).toEqual([202]);
    await until('the second event', async () => (await titles()).includes('Retrospective'));
  });

  it('are found by polling if the notification was lost', async () => {
    // The time of the next poll is set when a pass ends.
    await calm();
    provider.arrive(account.email, 'Lost');
    provider.plan('work', 'Offsite');
    await clock.pass(2.5 * HOUR_MS);
    await until('the message', async () => (await subjects()).includes('Lost'));
    await until('the event', async () => (await titles()).includes('Offsite'));
  });

  it('appear after the provider has removed the subscription', async () => {
    const { id } = provider.first(account.email);
    const [{ resource } = { resource: 'mail' as const }] = provider.of(account.email);
    provider.arrive(account.email, 'After all');
    expect(await provider.notify(account.email, resource, 'removed')).toEqual([202]);
    provider.subscriptions.delete(id);
    await until('the message', async () => (await subjects()).includes('After all'));
    await until('a new subscription', async () => provider.of(account.email).length === 2);
  });

  it('make a subscription that has lapsed return', async () => {
    provider.subscriptions.clear();
    await clock.pass(8 * 24 * HOUR_MS);
    await until('new subscriptions', async () => provider.of(account.email).length === 2);
    await calm();
    provider.arrive(account.email, 'A week later');
    expect(await provider.notify(account.email, 'mail')).toEqual([202]);
    await until('the message', async () => (await subjects()).includes('A week later'));
  });
});
