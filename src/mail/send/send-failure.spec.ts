import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { type SendEnd, sendFailure, serverError } from './send-failure.ts';

const end = (rest: Partial<SendEnd>): SendEnd => ({
  status: 'failed',
  code: null,
  phase: null,
  detail: 'why',
  refused: [],
  retryAfterSeconds: null,
  ...rest,
});
const bo = { email: 'bo@example.test', reason: '550 no such user' };

describe('sendFailure', () => {
  it('returns null if every recipient has the message', () => {
    expect(sendFailure(end({ status: 'successful' }), 'j')).toBeNull();
  });

  it.each<[string, Partial<SendEnd>, string, Record<string, unknown>]>([
    [
      'some refused recipients',
      { status: 'successful', refused: [bo] },
      'payment',
      { failures: { [bo.email]: bo.reason } },
    ],
    [
      'only refused recipients',
      { code: 'rejected', phase: 'envelope', refused: [bo] },
      'payment',
      { failures: { [bo.email]: bo.reason } },
    ],
    ['refused content', { code: 'rejected', phase: 'content' }, 'payment', { serverError: 'why' }],
    [
      'a daily limit',
      { code: 'quota-exhausted', retryAfterSeconds: 60 },
      'rate-limited',
      { retryAfterSeconds: 60 },
    ],
    ['a rate limit', { code: 'rate-limited' }, 'rate-limited', {}],
    ['a refused login', { code: 'auth-invalid', phase: 'login' }, 'forbidden', {}],
    ['a lost connection', { code: 'temporary', phase: 'envelope' }, 'unavailable', {}],
    ['an unsupported operation', { code: 'unsupported' }, 'unavailable', {}],
    ['a failure without a code', {}, 'unavailable', {}],
    [
      'an outcome that is being looked up',
      { status: 'delayed', code: 'outcome-unknown' },
      'unavailable',
      { jobStatusId: 'j' },
    ],
    [
      'an outcome that stays unknown',
      { code: 'outcome-unknown' },
      'unavailable',
      { jobStatusId: 'j' },
    ],
  ])('reports %s', (_, rest, kind, details) => {
    const error = sendFailure(end(rest), 'j');
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({ kind, details: { type: 'api_error', ...details } });
  });

  it.each([
    ['451 4.3.2 System not accepting messages', '451 : 4.3.2 System not accepting messages'],
    ['550-5.1.1 no such\r\nuser', '550 : 5.1.1 no such\r\nuser'],
    ['the server closed the connection', 'the server closed the connection'],
    ['5500 is no code', '5500 is no code'],
  ])('formats the server response %j', (words, expected) =>
    expect(serverError(words)).toBe(expected),
  );
});
