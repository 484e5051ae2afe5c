import { toGraphError } from './graph-error.ts';

const NOW = new Date('2026-05-13T20:00:00Z');
const errorOf = (status: number, code: string, retryAfter: string | null = null) =>
  toGraphError(
    { status, body: Buffer.from(JSON.stringify({ error: { code, message: 'x' } })), retryAfter },
    NOW,
  );

describe('errors of Microsoft Graph', () => {
  it.each([
    [401, 'InvalidAuthenticationToken', 'auth-invalid'],
    [403, 'ErrorAccessDenied', 'rejected'],
    [404, 'ErrorItemNotFound', 'not-found'],
    [400, 'ErrorInvalidIdMalformed', 'not-found'],
    [410, 'SyncStateNotFound', 'not-found'],
    [410, 'resyncRequired', 'not-found'],
    [400, 'syncStateNotFound', 'not-found'],
    [412, 'ErrorIrresolvableConflict', 'conflict'],
    [409, 'ErrorFolderExists', 'conflict'],
    [429, 'ApplicationThrottled', 'rate-limited'],
    [429, '', 'rate-limited'],
    [503, 'ErrorMailboxMoveInProgress', 'temporary'],
    [504, '', 'temporary'],
    [408, '', 'temporary'],
    [423, '', 'temporary'],
    [400, 'ErrorInvalidRequest', 'rejected'],
    [403, 'ErrorExceededMessageLimit', 'quota-exhausted'],
  ])('say for %d %s that it is %s', (status, reason, code) => {
    expect(errorOf(status, reason)).toMatchObject({ status, reason, code });
  });

  it('have the pause that Graph names, if it names one', () => {
    expect(errorOf(429, '', '30').retryAfterSeconds).toBe(30);
    expect(errorOf(429, '').retryAfterSeconds).toBeNull();
  });
});
