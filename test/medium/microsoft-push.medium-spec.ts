import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  ProviderAccount,
  PushResource,
  PushSignal,
} from '../../src/providers/port/connector.ts';
import { codeOf } from '../support/contract-tools.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { until } from '../support/until.ts';

const SECRET = 'x'.repeat(43);

describe('notifications of Microsoft Graph', () => {
  let fixture: MicrosoftFixture;
  let server: Server;
  let address: string;
  let signals: PushSignal[];
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
    server = createServer((request, response) => {
      void (async () => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://here');
        expect(pathname).toBe('/push');
        const receipt = await fixture.connector.push.receive({
          method: 'POST',
          headers: {},
          query: Object.fromEntries(searchParams),
          body: await buffer(request),
        });
        signals.push(...receipt.signals);
        response.writeHead(receipt.answer.status, { 'content-type': 'text/plain' });
        response.end(receipt.answer.body);
      })();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/push`;
  });
  beforeEach(() => {
    signals = [];
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  const subscribe = (account: ProviderAccount, resource: PushResource = 'mail') =>
    fixture.connector.push.subscribe(account, {
      resource,
      address,
      integration: null,
      id: randomUUID(),
      secret: SECRET,
    });

  it('prove the address, and report a new message with the secret', async () => {
    const account = fixture.account();
    const { id, expiresAt } = await subscribe(account);
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    await fixture.stub.put(account.email, `To: ${account.email}\r\nSubject: News\r\n\r\nHi\r\n`);
    await until('the notification', async () => signals.length > 0);
    expect(signals[0]).toEqual({
      event: 'changed',
      subscription: id,
      proof: { secret: SECRET },
    });
  });

  it.each([
    ['reauthorizationRequired', 'renew'],
    ['subscriptionRemoved', 'removed'],
    ['missed', 'missed'],
  ] as const)('turn the notice %s into %s', async (notice, event) => {
    const account = fixture.account();
    const { id } = await subscribe(account);
    await fixture.stub.notifyLifecycle(id ?? '', notice);
    await until('the notice', async () => signals.length > 0);
    expect(signals[0]).toMatchObject({ event, subscription: id, proof: { secret: SECRET } });
  });

  it('report a contact that was changed in Outlook, in whichever folder it is', async () => {
    const account = fixture.account();
    const { id } = await subscribe(account, 'contacts');
    const { contacts } = fixture.stub.user(account.email);
    const folder = contacts.addFolder('Inner', contacts.addFolder('Outer'));
    contacts.add(folder.id, { givenName: 'Ada' });
    await until('the notification', async () => signals.length > 0);
    expect(signals[0]).toEqual({ event: 'changed', subscription: id, proof: { secret: SECRET } });
    expect(await codeOf(subscribe(fixture.account(['Mail.Read']), 'contacts'))).toBe('unsupported');
  });

  it('are renewed under the same id, and end', async () => {
    const { push } = fixture.connector;
    const account = fixture.account();
    const made = { resource: 'mail', details: {}, ...(await subscribe(account)) } as const;
    const renewed = await push.renew(account, made);
    expect(renewed.id).toBe(made.id);
    expect(renewed.expiresAt.getTime()).toBeGreaterThanOrEqual(made.expiresAt.getTime());
    await push.unsubscribe(account, made);
    expect(await codeOf(push.unsubscribe(account, made))).toBe('not-found');
    expect(await codeOf(push.renew(account, made))).toBe('not-found');
  });

  it('are one for the events of all calendars, and none for shared mailboxes or without an address', async () => {
    const account = fixture.account();
    expect(await codeOf(subscribe(account, 'calendar:one'))).toBe('unsupported');
    const { push } = fixture.connector;
    const context = { integration: null, address };
    expect(push.resources(account, ['one'], context)).toEqual(['mail', 'contacts', 'calendars']);
    expect(push.resources(account, [], { ...context, address: null })).toEqual([]);
    const shared = { ...account, settings: { shared_mailbox: true } };
    expect(push.resources(shared, [], context)).toEqual([]);
  });

  it('do not believe requests of another form', async () => {
    for (const body of ['', '[]', '{"value":3}', 'null']) {
      const request = { method: 'POST', headers: {}, query: {}, body: Buffer.from(body) } as const;
      const { signals: read, answer } = await fixture.connector.push.receive(request);
      expect([read, answer.status]).toEqual([[], 400]);
    }
  });
});
