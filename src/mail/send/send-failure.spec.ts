import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { type SendEnd, sendFailure, serverError } from './send-failure.ts';

const end = (rest: Partial<SendEnd>): SendEnd => ({
  status: 'failed', code: null, phase: null, detail: 'why', refused: [], retryAfterSeconds: null, ...rest,
}); // prettier-ignore
const bo = { email: 'bo@example.test', reason: '550 no such user' };

describe('what a sender is told', () => {
  it('is nothing when everybody has got it', () => {
    expect(sendFailure(end({ status: 'successful' }), 'j')).toBeNull();
  });

  it.each<[string, Partial<SendEnd>, string, Record<string, unknown>]>([
    ['some refused', { status: 'successful', refused: [bo] }, 'payment', { failures: { [bo.email]: bo.reason } }],
    ['all refused', { code: 'rejected', phase: 'envelope', refused: [bo] }, 'payment', { failures: { [bo.email]: bo.reason } }],
    ['content refused', { code: 'rejected', phase: 'content' }, 'payment', { serverError: 'why' }],
    ['daily limit', { code: 'quota-exhausted', retryAfterSeconds: 60 }, 'rate-limited', { retryAfterSeconds: 60 }],
    ['too fast', { code: 'rate-limited' }, 'rate-limited', {}],
    ['login refused', { code: 'auth-invalid', phase: 'login' }, 'forbidden', {}],
    ['connection lost', { code: 'temporary', phase: 'envelope' }, 'unavailable', {}],
    ['not possible', { code: 'unsupported' }, 'unavailable', {}],
    ['no reason', {}, 'unavailable', {}],
    ['nobody knows yet', { status: 'delayed', code: 'outcome-unknown' }, 'unavailable', { jobStatusId: 'j' }],
    ['nobody will know', { code: 'outcome-unknown' }, 'unavailable', { jobStatusId: 'j' }],
  ])('%s', (_, rest, kind, details) => {
    const error = sendFailure(end(rest), 'j');
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({ kind, details: { type: 'api_error', ...details } });
  }); // prettier-ignore

  it.each([
    ['451 4.3.2 System not accepting messages', '451 : 4.3.2 System not accepting messages'],
    ['550-5.1.1 no such\r\nuser', '550 : 5.1.1 no such\r\nuser'],
    ['the server closed the connection', 'the server closed the connection'],
    ['5500 is no code', '5500 is no code'],
  ])('has the words of the server: %j', (words, told) => expect(serverError(words)).toBe(told));
});
