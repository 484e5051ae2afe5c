import { pushUrl } from './push-url.ts';

describe('pushUrl', () => {
  const of = (PUSH_URL?: string, BASE_URL?: string) => {
    const problems: string[] = [];
    return { url: pushUrl({ PUSH_URL, BASE_URL }, problems), problems };
  };

  it('is BASE_URL if that is an https address with a public name', () => {
    expect(of(undefined, 'https://mail.example.com')).toEqual({
      url: 'https://mail.example.com',
      problems: [],
    });
  });

  it.each([
    undefined,
    'http://mail.example.com',
    'https://localhost:3000',
    'https://carillon',
    'https://mail.corp.internal',
    'https://10.0.0.5',
    'https://[::1]:3000',
  ])('is none if BASE_URL is %s', (baseUrl) => {
    expect(of(undefined, baseUrl)).toEqual({ url: null, problems: [] });
  });

  it('is PUSH_URL whatever BASE_URL is, and none if PUSH_URL is off', () => {
    expect(of('https://10.0.0.5', 'https://mail.example.com').url).toBe('https://10.0.0.5');
    expect(of('off', 'https://mail.example.com').url).toBeNull();
  });

  it('reports a PUSH_URL without https', () => {
    expect(of('http://mail.example.com').problems).toEqual([
      'PUSH_URL: must be off, or an address that starts with https://',
    ]);
  });
});
