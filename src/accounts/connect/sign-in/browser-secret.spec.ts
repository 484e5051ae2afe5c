import { BrowserCookie, formToken, isFormToken, newBrowserSecret } from './browser-secret.ts';

describe('BrowserCookie', () => {
  const secret = newBrowserSecret();

  it('sets the __Host- prefix and Secure only on https', () => {
    expect(new BrowserCookie(true).write(secret)).toBe(
      `__Host-carillon-sign-in=${secret}; Path=/; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(new BrowserCookie(false).write(secret)).toBe(
      `carillon-sign-in=${secret}; Path=/; HttpOnly; SameSite=Lax`,
    );
  });

  it.each([
    ['alone', (name: string) => `${name}=${secret}`],
    ['among others', (name: string) => `a=b; ${name}=${secret}; x${name}=c`],
  ])('reads its cookie %s', (_, header) => {
    expect(new BrowserCookie(true).read(header('__Host-carillon-sign-in'))).toBe(secret);
  });

  it.each([
    ['no cookie at all', undefined],
    ['the name without the prefix, which neighbouring hosts can set', `carillon-sign-in=${secret}`],
    ['a short value', '__Host-carillon-sign-in=abc'],
    ['strange characters', `__Host-carillon-sign-in=${'A'.repeat(40)}`],
  ])('returns undefined for %s', (_, header) => {
    expect(new BrowserCookie(true).read(header)).toBeUndefined();
  });

  it('creates form tokens that are valid for one browser and one link only', () => {
    const token = formToken(secret, 'link');
    expect(isFormToken(token, secret, 'link')).toBe(true);
    expect(isFormToken(token, secret, 'link2')).toBe(false);
    expect(isFormToken(token, newBrowserSecret(), 'link')).toBe(false);
    for (const other of ['', undefined, [token], { token }, `${token}a`])
      expect(isFormToken(other, secret, 'link')).toBe(false);
  });
});
