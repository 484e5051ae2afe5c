import { z } from 'zod';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import type { OutgoingMessage, SendControl } from '../../src/providers/port/connector.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { RelayTransports } from '../../src/providers/port/mail/relay-registry.ts';
import {
  type RelayTransport,
  SenderRefusedError,
  type SenderStatus,
} from '../../src/providers/port/mail/relay.ts';
import { RelayRoutes, type RoutedAccount } from '../../src/mail/relay/relay-routes.ts';
import { RelayRoutesService } from '../../src/mail/relay/relay-routes.service.ts';
import { sealRelaySettings } from '../../src/mail/relay/relay-secrets.ts';
import { RelayListeners } from '../../src/mail/relay/relay-listeners.ts';
import { RelayRepository } from '../../src/mail/relay/relay.repository.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const NO: SenderStatus = {
  domainVerified: false,
  senderVerified: false,
  detail: 'a link was sent',
};
const YES: SenderStatus = { domainVerified: false, senderVerified: true, detail: null };

const message: OutgoingMessage = {
  messageIdHeader: '<a@b.test>',
  mime: Buffer.from(''),
  envelope: { from: 'ada@sandbox.test', recipients: ['bo@elsewhere.test'] },
  bcc: [],
};
const control: SendControl = { signal: new AbortController().signal, onPhase: () => undefined };

const WAITING = `
  select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

/** A mailing service whose results the test sets. */
class ObedientTransport implements RelayTransport {
  readonly kind = 'smtp';
  readonly settingsSchema = z.record(z.string(), z.unknown());
  readonly secretSettings = [];
  /** The requests it received, with the field `v` of the settings. */
  readonly asked: string[] = [];
  enrolled: () => Promise<SenderStatus> = () => Promise.resolve(YES);
  failure: Error | null = null;

  verify = () => Promise.resolve();
  senderStatus = () => Promise.resolve(NO);
  removeSender = () => Promise.resolve();
  findSent = () => Promise.resolve({ found: false, conclusive: false });
  enrol(settings: { v?: unknown }, { email }: { email: string }) {
    this.asked.push(`${email} ${String(settings.v)}`);
    return this.enrolled();
  }
  send(_settings: object, { envelope }: OutgoingMessage) {
    if (this.failure) return Promise.reject(this.failure);
    return Promise.resolve({
      accepted: envelope.recipients,
      refused: [],
      deferred: [],
      response: 'ok',
    });
  }
}

describe('RelayRoutes', () => {
  let server: TestApp;
  let sql: Database;
  let application: TestApplication;
  let account: RoutedAccount;
  let transport: ObedientTransport;
  let clock: TestClock;
  let routes: RelayRoutes;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    sql = server.app.get(Database);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    application = await createApplication(server.app);
    const { id, email } = await createAccount(server.app, application);
    account = { accountId: id, applicationId: application.id, email, name: 'Ada' };
    transport = new ObedientTransport();
    clock = new TestClock();
    routes = makeRoutes();
  });

  const makeRoutes = () => {
    const relays = new RelayRepository(sql, new RelayListeners());
    const transports = new RelayTransports([transport]);
    return new RelayRoutesService(relays, transports, server.app.get(SecretBox), clock);
  };
  const setRelay = async (v: number, of = application, on: Sql = sql) => {
    await on.query(
      `insert into relay (application_id, kind, settings_sealed, created_at, updated_at)
       values ($1, 'smtp', $2, now(), now())
       on conflict (application_id) do update set settings_sealed = excluded.settings_sealed`,
      [of.id, sealRelaySettings(server.app.get(SecretBox), of.id, { v })],
    );
  };
  const stored = () =>
    sql.query('select * from relay_sender where account_id = $1', [account.accountId]);

  it('is provided by the application as RelayRoutesService', () => {
    expect(server.app.get(RelayRoutes, { strict: false })).toBeInstanceOf(RelayRoutesService);
  });

  it('finds no route without a relay, and makes no request', async () => {
    expect(await routes.find(account)).toBeNull();
    expect(await routes.isOpen(account)).toBe(false);
    expect(transport.asked).toEqual([]);
  });

  it('enrols an unknown sender, stores the result, and does not ask again', async () => {
    await setRelay(1);
    expect(await routes.isOpen(account)).toBe(false);
    expect((await routes.find(account))?.kind).toBe('smtp');
    expect(await routes.isOpen(account)).toBe(true);
    expect(await makeRoutes().find(account)).not.toBeNull();
    expect(transport.asked).toEqual([`${account.email} 1`]);
  });

  it('asks about an unconfirmed sender at most once a minute, across processes', async () => {
    await setRelay(1);
    transport.enrolled = () => Promise.resolve(NO);
    const found = await Promise.all([1, 2, 3, 4].map(() => makeRoutes().find(account)));
    expect(found).toEqual([null, null, null, null]);
    clock.advance(59_000);
    expect(await routes.find(account)).toBeNull();
    expect(transport.asked).toHaveLength(1);
    expect(await stored()).toEqual([expect.objectContaining({ detail: 'a link was sent' })]);
    clock.advance(2_000);
    transport.enrolled = () => Promise.resolve(YES);
    expect(await routes.find(account)).not.toBeNull();
    expect(transport.asked).toHaveLength(2);
  });

  it("never uses another application's relay, or a relay for another application's account", async () => {
    const other = await createApplication(server.app);
    await setRelay(1, other);
    expect(await routes.find(account)).toBeNull();
    expect(await routes.find({ ...account, applicationId: other.id })).toBeNull();
    expect(await routes.isOpen({ ...account, applicationId: other.id })).toBe(false);
    expect(transport.asked).toEqual([]);
  });

  it('reports that the service cannot be reached, and asks again after a minute', async () => {
    await setRelay(1);
    transport.enrolled = () => Promise.reject(new ProviderError('temporary', 'down'));
    await expect(routes.find(account)).rejects.toMatchObject({
      code: 'temporary',
      message: 'down',
    });
    expect(await routes.find(account)).toBeNull();
    clock.advance(61_000);
    transport.enrolled = () => Promise.resolve(YES);
    expect(await routes.find(account)).not.toBeNull();
  });

  it('discards the result of a service that was replaced meanwhile', async () => {
    await setRelay(1);
    transport.enrolled = async () => {
      await setRelay(2);
      await sql.query('delete from relay_sender where account_id = $1', [account.accountId]);
      return YES;
    };
    await routes.find(account);
    expect(await stored()).toEqual([]);
    expect(await routes.isOpen(account)).toBe(false);
  });

  it('tolerates that the account is deleted during enrolment', async () => {
    await setRelay(1);
    transport.enrolled = async () => {
      await sql.query('delete from "grant" where id = $1', [account.accountId]);
      return YES;
    };
    await routes.find(account);
    expect(await stored()).toEqual([]);
    expect(await routes.find(account)).toBeNull();
  });

  it('waits for a transaction that replaces the relay, and then discards the result', async () => {
    await setRelay(1);
    let finding: Promise<unknown> = Promise.resolve();
    await sql.transaction(async (inside) => {
      await setRelay(2, application, inside);
      finding = routes.find(account);
      await until('the look-up to wait', async () => (await sql.query(WAITING)).length > 0);
      await inside.query('delete from relay_sender where account_id = $1', [account.accountId]);
    });
    expect(await finding).toBeNull();
    expect(await stored()).toEqual([]);
    expect(transport.asked).toEqual([]);
  });

  it('reports refused credentials of the service as temporary, because the account is not at fault', async () => {
    await setRelay(1);
    const route = await routes.find(account);
    transport.failure = new ProviderError('auth-invalid', 'wrong key', { phase: 'login' });
    await expect(route?.send(message, control)).rejects.toMatchObject({
      code: 'temporary',
      phase: 'login',
      message: 'the mailing service refused its credentials: wrong key',
    });
    expect(await routes.isOpen(account)).toBe(true);
  });

  it('removes the route when the service refuses mail from the sender', async () => {
    await setRelay(1);
    const route = await routes.find(account);
    expect(await route?.send(message, control)).toMatchObject({ accepted: ['bo@elsewhere.test'] });
    transport.failure = new SenderRefusedError('not a verified sender');
    await expect(route?.send(message, control)).rejects.toMatchObject({ code: 'temporary' });
    expect(await routes.isOpen(account)).toBe(false);
    expect(await stored()).toEqual([expect.objectContaining({ detail: 'not a verified sender' })]);
    expect(await routes.find(account)).toBeNull();
  });
});
