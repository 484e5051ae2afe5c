import { davFailure } from './dav-error.ts';
import { isTrustedMove } from './dav-fetch.ts';

const now = new Date('2026-01-01T00:00:00Z');
const refusal = (status: number, more: { body?: string; retryAfter?: string } = {}) =>
  davFailure({ status, what: 'calendars', setting: 'caldav_url', now, ...more });

describe('davFailure', () => {
  it.each([
    [401, 'auth-invalid'],
    [403, 'rejected'],
    [404, 'not-found'],
    [405, 'unsupported'],
    [410, 'not-found'],
    [412, 'conflict'],
    [423, 'temporary'],
    [429, 'rate-limited'],
    [500, 'temporary'],
    [503, 'temporary'],
    [507, 'rejected'],
  ])('maps status %i to %s', (status, code) => {
    expect(refusal(status)).toMatchObject({ code, setting: 'caldav_url' });
  });

  it('waits as long as the server asks for', () => {
    expect(refusal(503, { retryAfter: '30' })).toMatchObject({
      code: 'rate-limited',
      retryAfterSeconds: 30,
    });
  });

  it('uses the condition that a server reports', () => {
    expect(refusal(403, { body: '<d:error><c:no-uid-conflict/></d:error>' }).code).toBe('conflict');
  });
});

describe('isTrustedMove', () => {
  it.each([
    ['https://caldav.icloud.com/', 'https://p42-caldav.icloud.com/', true],
    ['https://dav.example.org/', 'https://dav.example.org/home/', true],
    ['http://dav.example.org/', 'https://dav.example.org/', true],
    ['https://dav.example.org/', 'http://dav.example.org/', false],
    ['https://dav.example.org/', 'https://dav.elsewhere.org/', false],
    ['https://example.co.uk/', 'https://evil.co.uk/', false],
    ['https://example.org/', 'https://evil.org/', false],
    // Public suffixes, long ones and ones with many labels: sibling hosts have other owners.
    ['https://ada.github.io/', 'https://mallory.github.io/', false],
    ['https://mine.blogspot.com/', 'https://evil.blogspot.com/', false],
    ['https://dav.duckdns.org/', 'https://evil.duckdns.org/', false],
    ['https://shop.kobe.jp/', 'https://evil.kobe.jp/', false],
    [
      'https://ada.s3.dualstack.eu-west-1.amazonaws.com/',
      'https://b.s3.dualstack.eu-west-1.amazonaws.com/',
      false,
    ],
    ['https://dav.company.example.co.uk/', 'https://p1.company.example.co.uk/', true],
    ['https://dav.web.de/', 'https://p1.web.de/', true],
    ['https://dav.example.org./', 'https://evil.org./', false],
    ['http://127.0.0.1:1/', 'http://127.0.0.1:2/', false],
    ['http://10.0.0.1/', 'http://11.0.0.1/', false],
  ])('%s to %s: %s', (from, to, trusted) => {
    expect(isTrustedMove(new URL(from), new URL(to))).toBe(trusted);
  });
});
