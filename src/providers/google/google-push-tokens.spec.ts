import { describe, expect, it } from '@jest/globals';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { keyPair, publicJwk, signedJwt } from '../../../test/support/google/oauth/keys.ts';
import { TestClock } from '../../../test/support/test-clock.ts';
import { GooglePushTokens } from './google-push-tokens.ts';

const ISSUER = 'https://issuer.test';
const expected = { audience: 'https://here.test/push', email: 'push@project.test' };

type Answer = { status: number; body: string } | EgressError;

/** A key address whose answers a test sets, and the tokens that are checked with its keys. */
class KeyAddress {
  readonly clock = new TestClock();
  asked = 0;
  answer: Answer = new EgressError('connect', 'no connection');
  readonly tokens: GooglePushTokens;

  constructor() {
    const get = () => {
      this.asked += 1;
      if (this.answer instanceof Error) return Promise.reject(this.answer);
      const { status, body } = this.answer;
      const response = { status, headers: {}, body: Buffer.from(body), retryAfter: null };
      return Promise.resolve(response as never);
    };
    this.tokens = new GooglePushTokens({ get }, this.clock, ISSUER, 'https://keys.test/certs');
  }

  check(keys: ReturnType<typeof keyPair>) {
    const iat = Math.floor(this.clock.now().getTime() / 1000);
    const { audience: aud, email } = expected;
    const claims = { iss: ISSUER, aud, email, email_verified: true, iat, exp: iat + 3600 };
    return this.tokens.check(signedJwt(keys, claims), expected);
  }
}

describe('tokens of Pub/Sub', () => {
  const ours = keyPair();
  const keys = { status: 200, body: JSON.stringify({ keys: [publicJwk(ours)] }) };

  it.each<[string, Answer]>([
    ['no connection', new EgressError('connect', 'no connection')],
    ['500', { status: 500, body: '' }],
    ['a page', { status: 200, body: '<html>' }],
    ['no keys', { status: 200, body: '{}' }],
  ])('ask a key address that answers with %s once in 30 seconds', async (_, answer) => {
    const address = new KeyAddress();
    address.answer = answer;
    for (let n = 0; n < 5; n++) expect(await address.check(ours)).toBe('unknown');
    expect(address.asked).toBe(1);
    address.answer = keys;
    address.clock.advance(29_000);
    expect(await address.check(ours)).toBe('unknown');
    address.clock.advance(1_000);
    expect(await address.check(ours)).toBe('valid');
    expect(address.asked).toBe(2);
  });

  it('with a known key stay valid while forged ones are refused without a request', async () => {
    const address = new KeyAddress();
    address.answer = keys;
    expect(await address.check(ours)).toBe('valid');
    address.answer = { status: 500, body: '' };
    const forged = keyPair();
    for (let n = 0; n < 3; n++) expect(await address.check(forged)).toBe('refused');
    expect(await address.check(ours)).toBe('valid');
    expect(address.asked).toBe(1);
  });
});
