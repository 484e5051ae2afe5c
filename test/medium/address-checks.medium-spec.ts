import { jest } from '@jest/globals';
import { AddressChecks } from '../../src/accounts/grants/proofs/address-checks.ts';
import { AddressProofs } from '../../src/accounts/grants/proofs/address-proofs.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('address checks in the background', () => {
  let server: TestApp;
  let application: TestApplication;
  const checks = () => server.app.get(AddressChecks);

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await subscribe(server, application, ['account.proof_changed']);
  });
  afterAll(() => server.close());

  /** An account from the time before addresses were proven. */
  async function oldAccount(email: string, more: object = {}): Promise<string> {
    const { id } = await createAccount(server.app, application, { email, proof: null, ...more });
    await rowsOf(server, 'update "grant" set prove_at = now() where id = $1', [id]);
    return id;
  }
  const stateOf = async (id: string) => {
    const [row] = await rowsOf(
      server,
      `select proof, proven_at is not null as proven, prove_at > now() as later, prove_failures as failures, mailbox
       from "grant" where id = $1`,
      [id],
    );
    return row;
  };
  const events = () =>
    rowsOf<{ body: Buffer }>(server, 'select body from webhook_event where application_id = $1', [
      application.id,
    ]);

  it('prove the address of an account without a proof, and send one webhook', async () => {
    const id = await oldAccount('old@sandbox.test');
    expect(await checks().run()).toBe(1);
    expect(await stateOf(id)).toEqual({
      proof: 'sandbox',
      proven: true,
      later: null,
      failures: 0,
      mailbox: '',
    });
    expect(await checks().run()).toBe(0);
    const sent = (await events()).map(({ body }) => JSON.parse(body.toString()));
    expect(
      sent.map(({ deltas: [delta] }) => [
        delta.type,
        delta.object_data.id,
        delta.object_data.attributes,
      ]),
    ).toEqual([['account.proof_changed', id, { address_proven: true, proof: 'sandbox' }]]);
  });

  it('wait longer after each check without a proof, and end after the seventh', async () => {
    const id = await oldAccount('ada@owned.example.org.uk');
    await checks().run();
    expect(await stateOf(id)).toMatchObject({ proof: null, later: true, failures: 1 });
    for (let count = 2; count <= 7; count += 1) {
      await rowsOf(server, 'update "grant" set prove_at = now() where id = $1', [id]);
      expect(await checks().run()).toBe(1);
    }
    expect(await stateOf(id)).toMatchObject({ proof: null, later: null, failures: 7 });
    expect(await events()).toEqual([]);
  });

  it('are divided among concurrent processes, so that each account is checked once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 8 }, (_, index) => oldAccount(`many-${index}@sandbox.test`)),
    );
    const taken = await Promise.all([checks().run(), checks().run(), checks().run()]);
    expect(taken.reduce((sum, count) => sum + count)).toBe(ids.length);
  });

  it('prove nothing when the settings were replaced during the check', async () => {
    const id = await oldAccount('new@sandbox.test');
    const proofs = server.app.get(AddressProofs, { strict: false });
    const later = proofs.later.bind(proofs);
    jest.spyOn(proofs, 'later').mockImplementationOnce(async (...account) => {
      const proof = await later(...account);
      await rowsOf(
        server,
        `update "grant" set settings_sealed = settings_sealed || ' ' where id = $1`,
        [id],
      );
      return proof;
    });
    await checks().run();
    expect(await stateOf(id)).toMatchObject({ proof: null });
    await rowsOf(
      server,
      'update "grant" set settings_sealed = trim(settings_sealed), prove_at = now() where id = $1',
      [id],
    );
    await checks().run();
    expect(await stateOf(id)).toMatchObject({ proof: 'sandbox' });
  });

  it('prove nothing while no key of the process decrypts the settings', async () => {
    const id = await oldAccount('new@sandbox.test');
    await rowsOf(server, `update "grant" set settings_sealed = 'unreadable' where id = $1`, [id]);
    await checks().run();
    expect(await stateOf(id)).toMatchObject({ proof: null, mailbox: null });
  });
});
