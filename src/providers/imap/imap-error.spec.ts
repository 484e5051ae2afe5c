import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import { SendAbortedError, SmtpTimeoutError } from '../smtp/smtp-failure.ts';
import { ImapTroubleError, isImapRefusal, secretsOf, toImapError } from './imap-error.ts';
import type { ImapStage } from './servers/imap-verdict.ts';

const failed = (parts: object, message = 'Command failed') =>
  Object.assign(new Error(message), parts);
const convert = (error: unknown, stage: ImapStage = 'command', secrets: readonly string[] = []) =>
  toImapError(error, { stage, secrets });

/** Errors of the library and of Node; expected code, text and setting. */
const ROWS: [string, Error, ProviderErrorCode, RegExp, (string | null)?][] = [
  ['CONNECT_TIMEOUT', failed({ code: 'CONNECT_TIMEOUT' }), 'temporary', /no connection in time/, 'imap_port'],
  ['GREETING_TIMEOUT', failed({ code: 'GREETING_TIMEOUT' }), 'temporary', /did not greet/, 'imap_port'],
  ['ETIMEOUT', failed({ code: 'ETIMEOUT' }), 'temporary', /did not answer in time/],
  ['NoConnection', failed({ code: 'NoConnection' }), 'temporary', /closed the connection/],
  ['ClosedAfterConnectTLS', failed({ code: 'ClosedAfterConnectTLS' }), 'temporary', /closed the connection/],
  ['BYE', failed({ code: 'NoConnection', reason: 'Too many connections' }), 'rate-limited', /Too many/],
  ['ParserError11', failed({ code: 'ParserError11' }), 'temporary', /does not speak IMAP/],
  ['NotFound', failed({ code: 'NotFound' }), 'not-found', /does not exist/],
  ['no STARTTLS', failed({ tlsFailed: true }, 'Server does not support STARTTLS'), 'unsupported', /does not offer STARTTLS/, 'imap_security'],
  ['STARTTLS_INJECTION', failed({ code: 'STARTTLS_INJECTION', tlsFailed: true }), 'temporary', /tampered/, 'imap_security'],
  ['no known login', failed({}, 'Unsupported authentication mechanism'), 'unsupported', /supported login method/, 'imap_security'],
  ['login disabled', failed({ authenticationFailed: true }, 'Login is disabled'), 'unsupported', /supported login method/, 'imap_security'],
  ['ECONNREFUSED', failed({ code: 'ECONNREFUSED' }), 'temporary', /no connection/, 'imap_port'],
  ['ECONNRESET', failed({ code: 'ECONNRESET' }), 'temporary', /the connection broke/],
  ['ENOTFOUND', failed({ code: 'ENOTFOUND' }), 'temporary', /does not resolve/, 'imap_host'],
  ['ERR_IP_BLOCKED', failed({ code: 'ERR_IP_BLOCKED' }), 'unsupported', /not a public one/, 'imap_host'],
  ['self-signed', failed({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'temporary', /self-signed/, 'imap_security'],
  ['expired', failed({ code: 'CERT_HAS_EXPIRED' }), 'temporary', /has expired/, 'imap_security'],
  ['another name', failed({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), 'temporary', /another host name/, 'imap_security'],
  ['unknown authority', failed({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }), 'temporary', /authority/, 'imap_security'],
  ['no TLS', failed({ code: 'ERR_SSL_WRONG_VERSION_NUMBER', reason: 'wrong version number' }), 'temporary', /does not speak TLS/, 'imap_security'],
  ['addresses', new AggregateError([failed({ code: 'ECONNREFUSED' })]), 'temporary', /ECONNREFUSED/, 'imap_port'],
  ['given up', new SendAbortedError(), 'temporary', /given up/],
  ['too long', new SmtpTimeoutError('it took too long'), 'temporary', /it took too long/],
  ['trouble', new ImapTroubleError('no token'), 'temporary', /no token/],
  ['a bug', new TypeError('x is not a function'), 'temporary', /the exchange with the server failed/],
  ['a missing mailbox', failed({ responseStatus: 'NO', responseText: 'No', mailboxMissing: true }), 'not-found', /No/],
]; // oxfmt-ignore

describe('toImapError', () => {
  it.each(ROWS)(
    'maps %s to its code, text and setting',
    (_, error, code, words, setting = null) => {
      const result = convert(error);
      expect([result.code, result.setting]).toEqual([code, setting]);
      expect(result.message).toMatch(words);
    },
  );

  it('finds the response code in a parsed response and in text', () => {
    const parsed = { attributes: [{ section: [{ value: 'nonexistent' }] }] };
    const text = '3 NO [NONEXISTENT] gone';
    for (const response of [parsed, text])
      expect(convert(failed({ responseStatus: 'NO', responseText: 'gone', response })).code).toBe(
        'not-found',
      );
  });

  it('treats a refused login as one, whatever the last command was', () => {
    const error = failed({
      responseStatus: 'NO',
      authenticationFailed: true,
      serverResponseCode: 'AUTHENTICATIONFAILED',
    });
    expect(convert(error, 'connect')).toMatchObject({
      code: 'auth-invalid',
      setting: 'imap_password',
    });
  });

  it.each([
    [{ status: '401' }, 'AUTHENTICATIONFAILED', 'auth-invalid'],
    [{ status: 'invalid_token' }, undefined, 'auth-invalid'],
    [{ status: '400', schemes: 'Bearer' }, undefined, 'auth-invalid'],
    [{ status: '429' }, undefined, 'rate-limited'],
    [{ status: '503' }, undefined, 'temporary'],
    [{ status: '401' }, 'UNAVAILABLE', 'rate-limited'],
  ])('maps a token refused with %j and %s to %s', (oauthError, serverResponseCode, code) => {
    const error = failed({
      responseStatus: 'NO',
      responseText: 'refused',
      authenticationFailed: true,
      oauthError,
      serverResponseCode,
    });
    expect(convert(error, 'connect').code).toBe(code);
  });

  it('returns a ProviderError unchanged', () => {
    const error = new ProviderError('conflict', 'Taken');
    expect(convert(error)).toBe(error);
  });

  it('shows credentials neither in the message nor in the cause', () => {
    const password = 'open-sesame';
    const secrets = secretsOf({ user: 'me', password });
    const initial = Buffer.from(`\0me\0${password}`).toString('base64');
    const responseText = `LOGIN me ${password} and ${initial} failed`;
    const error = failed(
      { responseStatus: 'NO', responseText, executedCommand: password },
      password,
    );
    const result = convert(error, 'login', secrets);
    const shown = `${result.message} ${result.stack} ${String(result.cause)} ${(result.cause as Error).stack}`;
    expect(shown).not.toContain(password);
    expect(shown).not.toContain(initial);
    expect(result.message).toContain('LOGIN me *** and *** failed');
  });

  it('keeps a bug as the cause', () => {
    const bug = new TypeError('x is not a function');
    expect(convert(bug).cause).toBe(bug);
  });
});

describe('isImapRefusal', () => {
  it('distinguishes a reply from a lost connection', () => {
    expect(isImapRefusal(failed({ responseStatus: 'BAD' }))).toBe(true);
    expect(isImapRefusal(failed({ code: 'NotFound' }))).toBe(true);
    expect(isImapRefusal(failed({ code: 'NoConnection' }))).toBe(false);
    expect(isImapRefusal(null)).toBe(false);
  });
});
