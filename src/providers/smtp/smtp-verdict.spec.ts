import type { SmtpStep } from '../../../test/support/scripted-smtp.ts';
import {
  at,
  controlOf,
  failureOf,
  smallMessage,
  SmtpFixture,
} from '../../../test/support/smtp-fixture.ts';
import type { ProviderErrorCode, SendPhase } from '../../platform/base/errors/provider-error.ts';
import { parseReply } from './smtp-reply.ts';
import { type SmtpStage, smtpVerdict } from './smtp-verdict.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

/** Stage, reply, expected code, expected seconds. Replies of real servers, shortened. */
const ROWS: [SmtpStage, string, ProviderErrorCode, number?][] = [
  ['connect', '421 4.3.2 Too many connections, slow down', 'rate-limited'],
  ['connect', '421 4.7.0 Try again later, closing connection', 'temporary'],
  ['connect', '421 4.4.5 Server busy, try again later', 'temporary'],
  ['connect', '554 5.7.1 Your address is on a block list', 'temporary'],
  ['connect', '554 no SMTP service here', 'temporary'],
  ['login', '535 5.7.8 Username and Password not accepted', 'auth-invalid'],
  [
    'login',
    '535-5.7.8 Username and Password not accepted.\r\n535 5.7.8  https://help.test',
    'auth-invalid',
  ],
  ['login', '534 5.7.9 Application-specific password required', 'auth-invalid'],
  ['login', '535 5.7.139 SmtpClientAuthentication is disabled for the Tenant', 'auth-invalid'],
  ['login', '535 authentication failed', 'auth-invalid'],
  ['login', '525 5.7.13 User account disabled', 'auth-invalid'],
  ['login', '550 5.7.1 Account suspended', 'auth-invalid'],
  ['login', '454 4.7.0 Temporary authentication failure', 'temporary'],
  ['login', '454 4.7.0 Too many login attempts, please try again later', 'rate-limited'],
  ['login', '535 5.7.0 (#AUTH005) Too many bad auth attempts.', 'rate-limited'],
  ['login', '432 4.3.2 Concurrent connections limit exceeded', 'rate-limited'],
  ['login', '451 Authentication failed: Maximum credits exceeded', 'quota-exhausted'],
  ['login', '421 4.7.0 Closing', 'temporary'],
  ['login', '504 5.5.4 Unrecognized authentication type', 'temporary'],
  ['login', '503 5.5.1 Bad sequence', 'temporary'],
  ['login', '535 5.7.3 Temporary server error. Please try again later', 'temporary'],
  ['login', '554 5.7.0 Policy', 'temporary'],
  ['sender', '450 4.1.8 Sender address: domain not found', 'temporary'],
  ['sender', '452 4.3.1 Insufficient system storage', 'temporary'],
  ['sender', '550 5.4.5 Daily user sending limit exceeded', 'quota-exhausted'],
  [
    'sender',
    '550-5.4.5 Daily sending quota exceeded. Learn more at\r\n550 5.4.5 https://help.test',
    'quota-exhausted',
  ],
  ['sender', '550 5.1.90 Your message cannot be sent', 'quota-exhausted'],
  ['sender', '550 5.7.232 Tenant external limit', 'quota-exhausted'],
  ['sender', '550 5.7.233 Tenant external limit', 'quota-exhausted'],
  ['sender', '550 5.1.8 Access denied, bad outbound sender', 'rejected'],
  [
    'sender',
    '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException',
    'quota-exhausted',
  ],
  ['sender', '454 Throttling failure: Daily message quota exceeded.', 'quota-exhausted'],
  ['sender', '454 Throttling failure: Maximum sending rate exceeded.', 'rate-limited'],
  ['sender', '451 4.7.1 Sending limit exceeded, try again in 2 hours', 'quota-exhausted', 7200],
  ['sender', '530 5.7.57 Client not authenticated to send mail', 'auth-invalid'],
  ['sender', '530 5.7.0 Authentication Required', 'auth-invalid'],
  ['sender', '530 5.7.0 Must issue a STARTTLS command first', 'rejected'],
  ['sender', '553 5.7.1 Sender address rejected: not owned by user', 'rejected'],
  ['sender', '552 5.3.4 Message size exceeds fixed limit', 'rejected'],
  ['sender', '421 4.7.28 Unusual rate of mail', 'rate-limited'],
  ['sender', '503 5.5.1 Nested MAIL command', 'temporary'],
  ['sender', '501 5.1.7 Bad sender address syntax', 'rejected'],
  ['recipient', '550 5.1.1 No such user', 'rejected'],
  ['recipient', '551 user not local', 'rejected'],
  ['recipient', '450 4.2.0 Greylisted, try again in 300 seconds', 'temporary', 300],
  [
    'recipient',
    '451 4.7.1 Greylisting in action, please come back after 5 minutes',
    'temporary',
    300,
  ],
  ['recipient', '452 4.2.2 Mailbox full', 'temporary'],
  ['recipient', '552 5.2.2 Mailbox over quota: quota exceeded', 'rejected'],
  ['recipient', '554 5.2.2 Submission quota exceeded', 'quota-exhausted'],
  ['recipient', '452 4.5.3 Too many recipients', 'temporary'],
  [
    'recipient',
    '450 4.2.1 The user is receiving mail at a rate that prevents delivery',
    'temporary',
  ],
  ['recipient', '550 5.4.5 Daily user sending limit exceeded', 'quota-exhausted'],
  ['recipient', '550 5.7.1 Relaying denied', 'rejected'],
  ['recipient', '550 5.2.255 Throttled after repeated errors', 'rate-limited'],
  ['recipient', '550 5.2.251 Throttled after repeated errors', 'rate-limited'],
  ['recipient', '530 5.7.1 Authentication required', 'auth-invalid'],
  ['recipient', '421 4.3.2 Going down', 'temporary'],
  ['data', '451 4.3.0 Queue file write error', 'temporary'],
  ['data', '554 5.5.1 Not today', 'rejected'],
  ['data', '550 5.4.5 Daily user sending limit exceeded', 'quota-exhausted'],
  ['data', '421 4.3.0 Going down', 'temporary'],
  ['message', '554 5.7.1 Spam message rejected', 'rejected'],
  ['message', '550 5.7.0 Policy', 'rejected'],
  ['message', '552 5.2.3 Message exceeds maximum length', 'rejected'],
  ['message', '451 4.7.1 Refused by policy', 'temporary'],
  ['message', '452 4.3.4 Message too large at present', 'temporary'],
  ['message', '421 4.3.0 Temporary System Problem', 'temporary'],
  ['message', '451 4.3.0 Local error in processing', 'temporary'],
  ['message', '550 5.4.5 Daily user sending limit exceeded', 'quota-exhausted'],
  ['message', '554 5.7.1 You have exceeded your quota', 'quota-exhausted'],
  ['message', '450 4.2.1 Peak SMTP relay limit exceeded for customer', 'rate-limited'],
  ['message', '550 5.7.1 Daily SMTP relay limit exceeded for customer', 'quota-exhausted'],
  [
    'message',
    '550 Domain here.test has exceeded the max emails per hour (500/500) allowed',
    'rate-limited',
  ],
  [
    'message',
    '421 4.7.0 [TSS04] Messages temporarily deferred due to unexpected volume',
    'temporary',
  ],
  ['message', '421 4.7.1 [TS03] All messages will be permanently deferred', 'temporary'],
  ['message', '554 5.4.6 Too many hops', 'rejected'],
  ['message', '451 4.7.1 Please wait 10 minutes and try again', 'temporary', 600],
  ['message', '552 5.2.2 Mailbox is full', 'rejected'],
];

const STEPS: Record<SmtpStage, SmtpStep> = {
  connect: 'connect',
  login: 'auth',
  sender: 'mail',
  recipient: 'rcpt',
  data: 'data',
  message: 'message',
};
const PHASES: Record<SmtpStage, SendPhase> = {
  connect: 'connect',
  login: 'login',
  sender: 'envelope',
  recipient: 'envelope',
  data: 'envelope',
  message: 'confirmation',
};
const PLAIN = ['8BITMIME', 'SIZE 1000000', 'AUTH PLAIN'];

describe('smtpVerdict', () => {
  it.each(ROWS)('maps the reply at stage %s "%s" to %s', (stage, reply, code, ...[seconds]) => {
    const parsed = parseReply(reply);
    expect(parsed && smtpVerdict(stage, parsed)).toEqual({
      code,
      retryAfterSeconds: seconds ?? null,
    });
  });
});

describe.each([
  ['with pipelining', undefined],
  ['without pipelining', PLAIN],
])('SmtpSender %s', (_, extensions) => {
  it.each(ROWS)(
    'maps the reply at stage %s "%s" to %s',
    async (stage, reply, code, ...[seconds]) => {
      const server = await fixture.serve({
        ...(extensions ? { extensions } : {}),
        answer: (step) => (step === STEPS[stage] ? reply : undefined),
      });
      const login = { user: 'me', password: 'secret-1' };
      const error = await failureOf(
        fixture.sender().send('k', at(server, { login }), smallMessage(), controlOf().control),
      );
      expect([error.code, error.phase, error.retryAfterSeconds]).toEqual([
        code,
        PHASES[stage],
        seconds ?? null,
      ]);
      expect(error.message).toContain(reply.slice(0, 3));
      expect(server.messages).toEqual([]);
    },
  );
});
