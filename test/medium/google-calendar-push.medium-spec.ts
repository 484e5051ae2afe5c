import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PushReceipt, PushResource } from '../../src/providers/port/push-port.ts';
import { codeOf } from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const SECRET = 's'.repeat(43);

describe('channels of calendars at the stub of Google', () => {
  let fixture: GoogleFixture;
  let receiver: Server;
  let address: string;
  const received: (PushReceipt | null)[] = [];

  beforeAll(async () => {
    fixture = await GoogleFixture.start();
    receiver = createServer((request, response) => {
      const headers = request.headers as Record<string, string>;
      const body = Buffer.alloc(0);
      const receipt = fixture.calendarPush.receive({ method: 'POST', headers, query: {}, body });
      received.push(receipt);
      response.writeHead(receipt?.answer.status ?? 500).end();
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/push/google`;
  });
  beforeEach(() => void received.splice(0));
  afterAll(async () => {
    await fixture.stop();
    receiver.close();
    expectDocumented(fixture.stub);
  });

  const settled = () => fixture.stub.calendars.channels.settled();
  const changed = (subscription: string) => ({
    signals: [{ event: 'changed', subscription, proof: { secret: SECRET } }],
    answer: { status: 200 },
  });

  async function subscribed(resourceOf: (email: string) => PushResource) {
    const account = fixture.account();
    const resource = resourceOf(account.email);
    const request = { resource, id: randomUUID(), secret: SECRET, address, integration: null };
    const subscription = await fixture.calendarPush.subscribe(account, request);
    await settled();
    return { account, request, subscription, resource };
  }

  it('report changes of events with the secret, and nothing when they begin', async () => {
    const { calendar } = fixture.connector;
    const { account, request, subscription } = await subscribed((email) => `calendar:${email}`);
    expect(received).toEqual([{ signals: [], answer: { status: 200 } }]);
    const week = subscription.expiresAt.getTime() - Date.now();
    expect(week).toBeGreaterThan(6 * 86_400_000);
    expect(week).toBeLessThan(8 * 86_400_000);
    await calendar.createEvent(account, account.email, randomUUID(), {
      title: 'News',
      when: { object: 'date', date: '2030-03-01' },
    });
    await settled();
    expect(received.slice(1)).toEqual([changed(request.id)]);
  });

  it('report changes of the list of calendars', async () => {
    const { calendar } = fixture.connector;
    const { account, request } = await subscribed(() => 'calendars');
    const team = { name: 'Team', description: null, location: null, timezone: null };
    await calendar.createCalendar(account, randomUUID(), team);
    await settled();
    expect(received.slice(1)).toEqual([changed(request.id)]);
  });

  it('end when they are stopped, and are not found afterwards', async () => {
    const { account, subscription, resource } = await subscribed(() => 'calendars');
    const stored = { ...subscription, resource, details: subscription.details ?? {} };
    await fixture.calendarPush.unsubscribe(account, stored);
    expect(await codeOf(fixture.calendarPush.unsubscribe(account, stored))).toBe('not-found');
    expect(fixture.stub.calendars.channels.open.has(subscription.id ?? '')).toBe(false);
  });

  it('are unsupported for calendars that Google does not watch', async () => {
    const error = {
      code: 400,
      message: 'Watch is not supported by this resource.',
      errors: [{ reason: 'pushNotSupportedForRequestedResource', domain: 'global', message: 'No' }],
    };
    fixture.stub.faults.add({ answer: { status: 400, body: { error } } });
    expect(await codeOf(subscribed(() => 'calendar:holidays'))).toBe('unsupported');
  });

  it('cover the list and each calendar, if there is a public https address', () => {
    const push = fixture.calendarPush;
    const at = (one: string | null) => ({ integration: null, address: one });
    expect(push.resources(['a', 'b'], at('https://carillon.example/push/google'))).toEqual([
      'calendars',
      'calendar:a',
      'calendar:b',
    ]);
    expect(push.resources(['a'], at('http://carillon.example/push/google'))).toEqual([]);
    expect(push.resources(['a'], at(null))).toEqual([]);
    expect(push.resources([], at('https://carillon.example/push/google'))).toEqual([]);
  });

  it('are refused if a request is no notification', async () => {
    const request = { method: 'POST', headers: {}, query: {}, body: Buffer.from('{}') } as const;
    expect(fixture.calendarPush.receive(request)).toBeNull();
    const receipt = await fixture.connector.push.receive(request, null, null);
    expect(receipt).toEqual({ signals: [], answer: { status: 404 } });
  });
});
