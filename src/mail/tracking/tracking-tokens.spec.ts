import { randomBytes } from 'node:crypto';
import { newId } from '../../platform/base/ids/ids.ts';
import { TrackingTokens } from './tracking-tokens.ts';

const key = () => ({ id: 'k', key: randomBytes(32) });

describe('TrackingTokens', () => {
  const [old, fresh] = [key(), key()];
  const tokens = new TrackingTokens([fresh, old]);
  const link = { messageId: newId(), index: 199, url: 'https://ü.example.test/?a=b&c' };

  it('reads tokens that it has signed, also under an older key of the ring', () => {
    for (const signer of [tokens, new TrackingTokens([old])]) {
      expect(tokens.readLink(signer.link(link))).toEqual(link);
      expect(tokens.readOpening(signer.opening(link.messageId))).toBe(link.messageId);
    }
  });

  it('rejects every other token', () => {
    const token = tokens.link(link);
    const bytes = Buffer.from(token, 'base64url');
    const wrong: unknown[] = [
      ...Array.from(bytes.keys(), (at) =>
        Buffer.from(bytes.with(at, (bytes[at] ?? 0) ^ 1)).toString('base64url'),
      ),
      new TrackingTokens([key()]).link(link),
      tokens.opening(link.messageId),
      bytes.subarray(0, -1).toString('base64url'),
      `${token}AA`,
      `${token}=`,
      bytes.toString('base64'),
      'A'.repeat(100_000),
      '',
      undefined,
      [token],
      { token },
    ];
    for (const one of wrong) expect([one, tokens.readLink(one)]).toEqual([one, undefined]);
    expect(tokens.readOpening(token)).toBeUndefined();
    expect(tokens.readOpening(Buffer.alloc(16).toString('base64url'))).toBeUndefined();
  });
});
