import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expectDocumented } from '../remote-stub/remote-stub.ts';
import { until } from '../until.ts';
import { GraphClient } from './graph-client.ts';
import type { Json } from './http/types.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

const ANN = 'ann@contoso.test';

describe('subscriptions and uploads of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  let ann: GraphClient;
  let receiver: http.Server;
  let received: Json[];
  let confirms: boolean;

  beforeEach(async () => {
    received = [];
    confirms = true;
    receiver = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const url = new URL(request.url ?? '', 'http://x.test');
        const token = url.searchParams.get('validationToken');
        if (token !== null) {
          response.writeHead(200, { 'content-type': 'text/plain' }).end(confirms ? token : 'no');
          return;
        }
        const { value } = JSON.parse(Buffer.concat(chunks).toString()) as { value: Json[] };
        received.push(...value);
        response.writeHead(202).end();
      });
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    stub = await MicrosoftStub.start();
    stub.addUser(ANN);
    ann = new GraphClient(stub, stub.tokensFor(ANN, ['Mail.ReadWrite']).accessToken);
  });
  afterEach(async () => {
    await stub.stop();
    receiver.closeAllConnections();
    receiver.close();
    expectDocumented(stub);
  });

  const subscribe = (more: Json = {}) => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    return ann.send('POST', 'subscriptions', {
      changeType: 'created,updated',
      notificationUrl: url,
      lifecycleNotificationUrl: `${url}lifecycle`,
      resource: "me/mailFolders('inbox')/messages",
      expirationDateTime: new Date(Date.now() + 3_600_000).toISOString(),
      clientState: 'secret',
      ...more,
    });
  };

  it('posts changes of the watched folder with the client state', async () => {
    const { status, body } = await subscribe();
    expect(status).toBe(201);
    const mime = 'From: b@x.test\r\nSubject: a\r\n\r\nHi\r\n';
    const message = await stub.put(ANN, mime);
    await stub.put(ANN, mime, { folder: 'archive' });
    await until('a notification', async () => received.length > 0);
    expect(received).toEqual([
      expect.objectContaining({
        subscriptionId: body['id'],
        changeType: 'created',
        clientState: 'secret',
        resourceData: expect.objectContaining({ id: message.immutableId }) as unknown,
      }),
    ]);
  });

  it('refuses an address that does not confirm, and a life that is too long', async () => {
    confirms = false;
    expect((await subscribe()).body['error']).toMatchObject({ code: 'ValidationError' });
    confirms = true;
    const far = new Date(Date.now() + 8 * 86_400_000).toISOString();
    expect((await subscribe({ expirationDateTime: far })).status).toBe(400);
  });

  it('renews, ends and forgets subscriptions, and posts notices about them', async () => {
    const id = String((await subscribe()).body['id']);
    await stub.notifyLifecycle(id, 'reauthorizationRequired');
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const renewed = await ann.send('PATCH', `subscriptions/${id}`, { expirationDateTime: later });
    expect(renewed.body).toMatchObject({ expirationDateTime: later });
    await stub.notifyLifecycle(id, 'subscriptionRemoved');
    expect((await ann.send('GET', `subscriptions/${id}`)).status).toBe(404);
    expect(received.map(({ lifecycleEvent }) => lifecycleEvent)).toEqual([
      'reauthorizationRequired',
      'subscriptionRemoved',
    ]);
    const other = String((await subscribe()).body['id']);
    stub.now = () => Date.now() + 2 * 3_600_000;
    ann = new GraphClient(stub, stub.tokensFor(ANN, ['Mail.ReadWrite']).accessToken);
    expect((await ann.send('DELETE', `subscriptions/${other}`)).status).toBe(404);
  });

  it('takes a large attachment in pieces, in order and without a token', async () => {
    const draft = await ann.send('POST', 'me/messages', { subject: 'big' });
    const size = 5 * 1024 * 1024;
    const path = `me/messages/${String(draft.body['id'])}/attachments`;
    const session = await ann.send('POST', `${path}/createUploadSession`, {
      AttachmentItem: { attachmentType: 'file', name: 'big.bin', size },
    });
    const url = String(session.body['uploadUrl']);
    const put = (from: number, to: number, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'PUT',
        body: Buffer.alloc(to - from + 1, 'x'),
        headers: { 'content-range': `bytes ${from}-${to}/${size}`, ...headers },
      });
    const half = 3 * 1024 * 1024;
    expect((await put(half, size - 1)).status).toBe(416);
    expect((await put(0, half - 1, { authorization: 'Bearer x' })).status).toBe(401);
    expect(await (await put(0, half - 1)).json()).toMatchObject({
      NextExpectedRanges: [`${half}`],
    });
    const last = await put(half, size - 1);
    expect([last.status, last.headers.get('location')]).toEqual([201, expect.any(String)]);
    expect(await ann.list(`${path}?$select=name,size`)).toMatchObject([{ name: 'big.bin', size }]);
  });
});
