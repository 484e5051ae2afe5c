import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import type { PushIntegration, PushReceipt } from '../../src/providers/port/push-port.ts';
import { codeOf } from '../support/contract-tools.ts';
import { keyPair, signedJwt } from '../support/google/oauth/keys.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const TOPIC = 'projects/p/topics/gmail';
const PUSHER = 'push@stub.iam.gserviceaccount.com';
const SUBSCRIPTION = 'projects/p/subscriptions/pulled';

describe('news of Gmail by Pub/Sub at the stub of Google', () => {
  let fixture: GoogleFixture;
  let receiver: Server;
  let address: string;
  let serviceAccount: string;
  const received: PushReceipt[] = [];

  const integrationWith = (settings: Record<string, unknown>): PushIntegration => ({
    id: randomUUID(),
    applicationId: 'application',
    settings: { pubsub_topic: TOPIC, ...settings },
  });
  const pushing = integrationWith({ pubsub_push_account: PUSHER });
  const pulling = () =>
    integrationWith({ pubsub_subscription: SUBSCRIPTION, service_account_json: serviceAccount });

  beforeAll(async () => {
    fixture = await GoogleFixture.start();
    serviceAccount = JSON.stringify(fixture.stub.oauth.addServiceAccount([]));
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => void answered(Buffer.concat(chunks)));
      const answered = async (body: Buffer) => {
        const headers = request.headers as Record<string, string>;
        const receipt = await receive(headers, body);
        received.push(receipt);
        response.writeHead(receipt.answer.status).end();
      };
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/push/google/1`;
  });
  beforeEach(() => {
    received.splice(0);
    fixture.stub.pubsub.subscriptions.clear();
    fixture.stub.pubsub.pushes.splice(0);
  });
  afterAll(async () => {
    await fixture.stop();
    receiver.close();
    expectDocumented(fixture.stub);
  });

  const receive = (headers: Record<string, string>, body: Buffer, integration = pushing) =>
    fixture.connector.push.receive(
      { method: 'POST', headers, query: {}, body },
      integration,
      address,
    );
  const subscribe = (account: ProviderAccount, integration = pushing) =>
    fixture.connector.push.subscribe(account, {
      resource: 'mail',
      id: randomUUID(),
      secret: 's'.repeat(43),
      address,
      integration,
    });
  const deliver = (to: string) =>
    fixture.stub.deliver(`From: x@elsewhere.test\r\nTo: ${to}\r\nSubject: Hi\r\n\r\nHi`, [to]);
  const signalOf = (mailbox: string) => ({
    event: 'changed',
    mailbox,
    resource: 'mail',
    proof: 'verified',
  });
  const watchOf = ({ email }: ProviderAccount) => fixture.stub.world.users.get(email)?.watch;
  const claims = () => {
    const iat = Math.floor(Date.now() / 1000);
    return {
      iss: fixture.stub.origin,
      aud: address,
      email: PUSHER,
      email_verified: true,
      iat,
      exp: iat + 3600,
    };
  };
  const bodyOf = (value: object) =>
    Buffer.from(
      JSON.stringify({
        message: { data: Buffer.from(JSON.stringify(value)).toString('base64') },
      }),
    );
  const statusFor = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const receipt = await receive(headers, bodyOf({ emailAddress: 'a@gmail.test', historyId: 1 }));
    expect(receipt.signals).toEqual([]);
    return receipt.answer.status;
  };

  it('are pushed with a token of Google, which is verified, and name the mailbox', async () => {
    const account = fixture.account();
    fixture.stub.pubsub.subscribe('projects/p/subscriptions/s', TOPIC, { endpoint: address });
    const { id, expiresAt } = await subscribe(account);
    expect(id).toBeNull();
    expect(expiresAt.getTime()).toBe(watchOf(account)?.expiresAt);
    await fixture.stub.pubsub.settled();
    received.splice(0);
    deliver(account.email);
    await fixture.stub.pubsub.settled();
    expect(received[0]?.signals).toEqual([signalOf(account.email)]);
    expect(new Set(fixture.stub.pubsub.pushes)).toEqual(new Set([204]));
  });

  it('are refused with a token that Google has not signed, or that has expired', async () => {
    expect(await statusFor(signedJwt(keyPair(), claims()))).toBe(401);
    expect(await statusFor('no-token')).toBe(401);
    const signed = (change: object) => fixture.stub.oauth.signed({ ...claims(), ...change });
    expect(await statusFor(signed({ exp: 1_000 }))).toBe(401);
    const [head = '', , signature = ''] = signed({}).split('.');
    const body = Buffer.from(JSON.stringify({ ...claims(), sub: 'me' })).toString('base64url');
    expect(await statusFor(`${head}.${body}.${signature}`)).toBe(401);
  });

  it.each([
    ['audience', { aud: 'https://other.example/push/google/1' }],
    ['service account', { email: 'other@stub.iam.gserviceaccount.com' }],
    ['issuer', { iss: 'https://issuer.example' }],
    ['unverified address', { email_verified: false }],
  ])('are refused with a token of another %s', async (_, change) => {
    expect(await statusFor(fixture.stub.oauth.signed({ ...claims(), ...change }))).toBe(401);
  });

  it('are not found without a token, or if the integration names no account', async () => {
    const body = bodyOf({ emailAddress: 'a@gmail.test', historyId: 1 });
    const refused = { signals: [], answer: { status: 404 } };
    expect(await receive({}, body)).toEqual(refused);
    const authorization = `Bearer ${fixture.stub.oauth.signed(claims())}`;
    expect(await receive({ authorization }, body, pulling())).toEqual(refused);
  });

  it('are accepted without effect if a verified message is not of Gmail', async () => {
    const authorization = `Bearer ${fixture.stub.oauth.signed(claims())}`;
    const accepted = { signals: [], answer: { status: 204 }, unknown: { status: 204 } };
    expect(await receive({ authorization }, bodyOf({ other: true }))).toEqual(accepted);
    expect(await receive({ authorization }, Buffer.from('no JSON'))).toEqual(accepted);
  });

  it('are pulled as the service account, and come again until they are acknowledged', async () => {
    const { push } = fixture.connector;
    const account = fixture.account();
    const integration = pulling();
    const kept = fixture.stub.pubsub.subscribe(SUBSCRIPTION, TOPIC);
    const pull = () => push.pull(integration, new AbortController().signal);
    expect(push.isPulled(integration)).toBe(true);
    expect(push.isPulled(pushing)).toBe(false);
    await subscribe(account, integration);
    deliver(account.email);
    const first = await pull();
    expect(first.signals).toEqual([signalOf(account.email)]);
    expect((await pull()).signals).toEqual([]);
    fixture.stub.pubsub.lease(
      kept,
      kept.waiting.map(({ ackId }) => ackId),
      0,
    );
    const again = await pull();
    expect(again.signals).toEqual(first.signals);
    await again.acknowledge();
    expect(kept.waiting).toEqual([]);
  });

  it('cannot be pulled with a key that Google refuses', async () => {
    const key = JSON.stringify({
      client_email: 'nobody@stub.test',
      private_key: keyPair().privateKey,
    });
    const integration = integrationWith({
      pubsub_subscription: SUBSCRIPTION,
      service_account_json: key,
    });
    const pull = fixture.connector.push.pull(integration, new AbortController().signal);
    expect(await codeOf(pull)).toBe('auth-invalid');
  });

  it('are watched again before a watch ends, also with another topic, and stopped', async () => {
    const account = fixture.account();
    const first = await subscribe(account);
    const second = await subscribe(account);
    expect(second.expiresAt.getTime()).toBeGreaterThanOrEqual(first.expiresAt.getTime());
    const moved = { ...pushing, settings: { ...pushing.settings, pubsub_topic: `${TOPIC}-2` } };
    const third = await subscribe(account, moved);
    expect(watchOf(account)?.topicName).toBe(`${TOPIC}-2`);
    const stored = { ...third, resource: 'mail', details: {} } as const;
    await fixture.connector.push.unsubscribe(account, stored);
    expect(watchOf(account)).toBeNull();
  });

  it('are wanted if there is a topic and a way to receive', () => {
    const wanted = (integration: PushIntegration | null, at: string | null) =>
      fixture.connector.push.resources(fixture.refusedAccount(), [], { integration, address: at });
    expect(wanted(pushing, address)).toEqual(['mail']);
    expect(wanted(pushing, null)).toEqual([]);
    expect(wanted(pulling(), null)).toEqual(['mail']);
    expect(wanted(integrationWith({}), address)).toEqual([]);
    expect(wanted(null, address)).toEqual([]);
  });
});
