import { loadConfig } from '../app-config.ts';

const load = (smtp: string, from = 'check@operator.test') =>
  loadConfig({
    DATABASE_URL: 'postgres://localhost/x',
    ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    OPERATOR_SMTP_URL: smtp,
    OPERATOR_MAIL_FROM: from,
  }).operatorMail;

describe("the configuration of the operator's mail server", () => {
  it('uses TLS, STARTTLS or no encryption, as the scheme of the URL requests', () => {
    expect(load('smtps://me:a%2Fb@mail.operator.test')).toEqual({
      from: 'check@operator.test',
      smtp: {
        host: 'mail.operator.test',
        port: 465,
        security: 'tls',
        username: 'me',
        password: 'a/b',
      },
    });
    expect(load('smtp://mail.operator.test:2525')?.smtp).toEqual({
      host: 'mail.operator.test',
      port: 2525,
      security: 'starttls',
    });
    expect(load('smtp+plain://[::1]:25')?.smtp).toMatchObject({ host: '::1', security: 'none' });
  });

  it('returns null if both variables are absent, and refuses one without the other', () => {
    expect(load('', '')).toBeNull();
    expect(() => load('smtp://mail.operator.test', '')).toThrow('OPERATOR_MAIL_FROM: is required');
    expect(() => load('')).toThrow('OPERATOR_SMTP_URL: is required');
  });

  it('refuses a password with a bare "%" and explains how to write it', () => {
    expect(() => load('smtps://me:100%@mail.operator.test')).toThrow(
      /OPERATOR_SMTP_URL: .* as %25/,
    );
  });

  it.each([
    'mail.operator.test',
    'http://mail.operator.test',
    'smtp://me@mail.operator.test',
    'smtp://',
  ])('refuses %s without repeating it in the error', (url) => {
    expect(() => load(url)).toThrow(/OPERATOR_SMTP_URL: (must (?:be|contain))/);
  });
});
