import { fingerprintOf, type IdempotentRequest } from './idempotency-keys.ts';

const request: IdempotentRequest = {
  accountId: 'a',
  key: 'k',
  method: 'POST',
  path: '/v2/outbox',
  body: {
    to: [{ email: 'bo@example.test', name: 'Bo' }],
    subject: 'x',
    nested: { b: 1, a: [1, 2] },
  },
};
const print = (changes: Partial<IdempotentRequest>) =>
  fingerprintOf({ ...request, ...changes }).toString('hex');

describe('fingerprintOf', () => {
  it('ignores the order of object keys at any depth', () => {
    const body = {
      nested: { a: [1, 2], b: 1 },
      subject: 'x',
      to: [{ name: 'Bo', email: 'bo@example.test' }],
    };
    expect(print({ body })).toBe(print({}));
  });

  it.each([
    { method: 'PUT' },
    { path: '/send' },
    { accountId: 'b' },
    { body: {} },
    { body: undefined },
    { body: { ...(request.body as object), nested: { b: 1, a: [2, 1] } } },
    { body: { ...(request.body as object), subject: null } },
  ])('gives another fingerprint if the request has %j', (changes) =>
    expect(print(changes)).not.toBe(print({})),
  );
});
