import { deliveryHeaders } from './signature.ts';

describe('deliveryHeaders', () => {
  it('signs the exact bytes of the body (expected values made with openssl)', () => {
    // printf '{"deltas":["ü"]}' | openssl dgst -sha256 -hmac 's3cret' printf
    // 'evt-1.1795255200.{"deltas":["ü"]}' | openssl dgst -sha256 -hmac 's3cret' -binary | base64
    expect(
      deliveryHeaders({
        eventId: 'evt-1',
        body: Buffer.from('{"deltas":["ü"]}'),
        at: new Date(1795255200_900),
        secret: 's3cret',
      }),
    ).toEqual({
      'content-type': 'application/json',
      'webhook-id': 'evt-1',
      'webhook-timestamp': '1795255200',
      'webhook-signature': 'v1,W/koxCiRxyM8iXHr7r5sDzz7u2BbmVvaHY8SpSmjphI=',
      'x-nylas-signature': '0f2a1abb7a6f21b9021226c407737205b9cfc70160859b6c1d37e6c515dbd410',
    });
  });

  it('signs webhook-signature with each key, and X-Nylas-Signature with the client secret', () => {
    const sign = (keys?: (string | Buffer)[]) =>
      deliveryHeaders({
        eventId: 'evt-1',
        body: Buffer.from('{}'),
        at: new Date(1795255200_000),
        secret: 's3cret',
        ...(keys ? { keys } : {}),
      });
    const keys = [Buffer.from([0, 255]), 's3cret'];
    const [own = '', withSecret = ''] = sign(keys)['webhook-signature']?.split(' ') ?? [];
    expect(own).toMatch(/^v1,[\w+/]{43}=$/);
    expect(withSecret).toBe(sign()['webhook-signature']);
    expect(sign(keys)['x-nylas-signature']).toBe(sign()['x-nylas-signature']);
  });
});
