import type { ProviderErrorCode } from '../../../platform/base/errors/provider-error.ts';
import { type ImapStage, imapVerdict } from './imap-verdict.ts';

/**
 * Stage, status, code, text, expected code, expected seconds. Texts of real servers, shortened, and
 * of RFC 5530.
 */
type Row = [ImapStage, 'NO' | 'BAD' | 'BYE', string | null, string, ProviderErrorCode, number?];

const ROWS: Row[] = [
  ['login', 'NO', 'AUTHENTICATIONFAILED', 'Authentication failed.', 'auth-invalid'],
  ['login', 'NO', 'AUTHENTICATIONFAILED', 'Invalid credentials (Failure)', 'auth-invalid'],
  ['login', 'NO', 'AUTHENTICATIONFAILED', 'LOGIN Invalid credentials', 'auth-invalid'],
  ['login', 'NO', 'AUTHORIZATIONFAILED', 'No such authorization-ID', 'auth-invalid'],
  ['login', 'NO', 'EXPIRED', 'That password is not valid any more', 'auth-invalid'],
  [
    'login',
    'NO',
    'ALERT',
    'Application-specific password required: https://help.test (Failure)',
    'auth-invalid',
  ],
  [
    'login',
    'NO',
    'ALERT',
    'Please log in via your web browser: https://help.test (Failure)',
    'auth-invalid',
  ],
  ['login', 'NO', 'WEBALERT', 'Web login required.', 'auth-invalid'],
  ['login', 'NO', null, 'LOGIN failed.', 'auth-invalid'],
  ['login', 'NO', null, 'AUTHENTICATE failed.', 'auth-invalid'],
  ['login', 'NO', null, 'Login failed.', 'auth-invalid'],
  ['login', 'NO', null, 'Invalid user name or password.', 'auth-invalid'],
  ['login', 'NO', null, 'authentication failure', 'auth-invalid'],
  ['login', 'NO', null, 'Logon failure: unknown user name or bad password', 'auth-invalid'],
  ['login', 'NO', 'UNAVAILABLE', 'Temporary authentication failure.', 'rate-limited', 60],
  ['login', 'NO', 'INUSE', 'Mailbox in use', 'rate-limited', 15],
  ['login', 'NO', 'LIMIT', 'Rate limit hit.', 'rate-limited', 60],
  ['login', 'NO', 'ALERT', 'Too many simultaneous connections. (Failure)', 'rate-limited', 60],
  [
    'login',
    'NO',
    'OVERQUOTA',
    'Account exceeded command or bandwidth limits. (Failure)',
    'rate-limited',
    60,
  ],
  [
    'login',
    'NO',
    'AUTHENTICATIONFAILED',
    'Too many login failures, try again in 5 minutes',
    'rate-limited',
    300,
  ],
  ['login', 'NO', null, 'Maximum number of connections from user+IP exceeded', 'rate-limited', 60],
  ['login', 'NO', 'ALERT', 'Account temporarily unavailable', 'temporary'],
  ['login', 'NO', null, 'Authentication failed: temporary server error', 'temporary'],
  ['login', 'NO', null, 'Login failed: backend not available, try again later', 'temporary'],
  ['login', 'NO', 'CONTACTADMIN', 'Your account is locked', 'temporary'],
  ['login', 'NO', 'SERVERBUG', 'This should not happen', 'temporary'],
  ['login', 'NO', null, 'Something else', 'temporary'],
  ['login', 'BAD', null, 'User is authenticated but not connected.', 'temporary'],
  ['login', 'BAD', null, 'Command Argument Error. 12', 'temporary'],
  ['login', 'NO', 'PRIVACYREQUIRED', 'Plaintext authentication disallowed', 'unsupported'],
  ['connect', 'BYE', null, 'Too many connections from your address', 'rate-limited', 60],
  ['connect', 'BYE', null, 'Server is shutting down', 'temporary'],
  ['command', 'BYE', null, 'Idle for too long', 'temporary'],
  ['command', 'BYE', null, 'Session expired, please login again', 'temporary'],
  [
    'command',
    'BYE',
    null,
    'Account exceeded bandwidth limits. Try again in 2 hours',
    'rate-limited',
    7200,
  ],
  [
    'command',
    'BAD',
    null,
    'Request is throttled. Suggested Backoff Time: 92415 milliseconds',
    'rate-limited',
    93,
  ],
  ['command', 'NO', 'THROTTLED', 'Slow down', 'rate-limited', 60],
  ['command', 'NO', 'UNAVAILABLE', 'Backend is away', 'rate-limited', 60],
  ['command', 'NO', 'INUSE', 'Mailbox is locked', 'rate-limited', 15],
  ['command', 'NO', 'LIMIT', 'At most 100 flags', 'rate-limited', 60],
  ['command', 'NO', 'NONEXISTENT', 'Unknown Mailbox: x (Failure)', 'not-found'],
  ['command', 'NO', 'TRYCREATE', "Mailbox doesn't exist: x", 'not-found'],
  ['command', 'NO', null, "Mailbox doesn't exist: x", 'not-found'],
  ['command', 'NO', null, 'Unknown Mailbox', 'not-found'],
  ['command', 'NO', null, "x doesn't exist", 'not-found'],
  ['command', 'NO', 'ALREADYEXISTS', 'Mailbox already exists', 'conflict'],
  ['command', 'NO', null, 'Mailbox already exists!', 'conflict'],
  ['command', 'NO', null, 'Duplicate folder name x (Failure)', 'conflict'],
  ['command', 'NO', 'OVERQUOTA', 'Not enough disk quota (OVERQUOTA)', 'rejected'],
  ['command', 'NO', 'TOOBIG', 'Message exceeds APPENDLIMIT', 'rejected'],
  [
    'command',
    'NO',
    'CANNOT',
    "Invalid mailbox name: Name must not have '/' characters",
    'rejected',
  ],
  ['command', 'NO', 'NOPERM', 'Permission denied', 'rejected'],
  ['command', 'NO', 'READ-ONLY', 'Mailbox is read-only', 'rejected'],
  ['command', 'NO', 'EXPUNGEISSUED', 'Some messages were expunged', 'temporary'],
  ['command', 'NO', 'SERVERBUG', 'Internal error occurred', 'temporary'],
  ['command', 'NO', 'CORRUPTION', 'Cannot open mailbox', 'temporary'],
  [
    'command',
    'NO',
    null,
    'Temporary problem: mailbox does not exist yet, try again later',
    'temporary',
  ],
  ['command', 'BAD', null, 'Error in IMAP command', 'temporary'],
  ['command', 'NO', null, 'No', 'temporary'],
];

describe('imapVerdict', () => {
  it.each(ROWS)(
    'maps %s, %s [%s] "%s" to %s',
    (stage, status, code, text, verdict, ...[seconds]) => {
      expect(imapVerdict(stage, { status, code, text })).toEqual({
        code: verdict,
        retryAfterSeconds: seconds ?? null,
      });
    },
  );
});
