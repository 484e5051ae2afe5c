import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GoogleStub } from '../google-stub.ts';
import { verifiedClaims } from '../oauth/keys.ts';

describe('pushes of the stub of Pub/Sub', () => {
  it("posts a message with a token of Google's key until the receiver accepts it", async () => {
    const stub = await GoogleStub.start();
    const tokens: string[] = [];
    const server = createServer((request, response) => {
      tokens.push(request.headers.authorization?.replace('Bearer ', '') ?? '');
      response.writeHead(tokens.length === 1 ? 503 : 204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/push`;
    stub.pubsub.subscribe('projects/p/subscriptions/s', 'projects/p/topics/t', {
      endpoint,
      audience: 'carillon',
    });
    stub.pubsub.publish('projects/p/topics/t', { emailAddress: 'anna@gmail.test', historyId: 1 });
    await stub.pubsub.settled();
    expect(stub.pubsub.pushes).toEqual([503, 204]);
    const certs = await (await fetch(`${stub.origin}/oauth2/v3/certs`)).json();
    const [key] = (certs as { keys: JsonWebKey[] }).keys;
    const publicKey = createPublicKey({ key: key ?? {}, format: 'jwk' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(verifiedClaims(pem, tokens[1] ?? '')).toMatchObject({
      iss: stub.origin,
      aud: 'carillon',
      email_verified: true,
    });
    server.close();
    await stub.stop();
  });
});
