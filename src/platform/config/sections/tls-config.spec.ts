import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { OTHER_KEY, TEST_CERTIFICATE, TEST_KEY } from '../../../../test/support/tls-certificate.ts';
import { loadConfig } from '../app-config.ts';
import { readCertificate } from './tls-config.ts';

const ENVIRONMENT = {
  DATABASE_URL: 'postgresql://localhost/none',
  ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
};
const load = (environment: Record<string, string>) =>
  loadConfig({ ...ENVIRONMENT, ...environment });

describe('TLS_CERT_FILE and TLS_KEY_FILE', () => {
  it('give the default public address https', () => {
    const files = { TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem' };
    expect(load(files)).toMatchObject({
      tls: { certFile: 'cert.pem', keyFile: 'key.pem' },
      baseUrl: 'https://localhost:3000',
    });
    expect(load({})).toMatchObject({ tls: null, baseUrl: 'http://localhost:3000' });
    const elsewhere = { ...files, BASE_URL: 'https://api.example.test' };
    expect(load(elsewhere).baseUrl).toBe('https://api.example.test');
  });

  it.each(['TLS_CERT_FILE', 'TLS_KEY_FILE'])('are refused if there is only %s', (name) => {
    const missing = name === 'TLS_CERT_FILE' ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE';
    expect(() => load({ [name]: 'secret-name.pem' })).toThrow(`${missing}: is required`);
    expect(() => load({ [name]: 'secret-name.pem' })).not.toThrow(/secret-name/);
  });
});

describe('readCertificate', () => {
  let folder: string;
  beforeAll(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tls-'))));
  afterAll(() => fs.rmSync(folder, { recursive: true }));

  function read(cert: string | null, key: string | null) {
    const files = {
      certFile: path.join(folder, 'cert.pem'),
      keyFile: path.join(folder, 'key.pem'),
    };
    for (const [file, content] of [
      [files.certFile, cert],
      [files.keyFile, key],
    ] as const) {
      fs.rmSync(file, { force: true });
      if (content !== null) fs.writeFileSync(file, content);
    }
    const problems: string[] = [];
    return { certificate: readCertificate(files, problems), problems };
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const encrypted = privateKey
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString();

  it('reads a certificate with its key', () => {
    expect(read(TEST_CERTIFICATE, TEST_KEY)).toEqual({
      certificate: { cert: TEST_CERTIFICATE, key: TEST_KEY },
      problems: [],
    });
  });

  it.each([
    ['files that do not exist', null, null, ['TLS_CERT_FILE: the file cannot be read (ENOENT)', 'TLS_KEY_FILE: the file cannot be read (ENOENT)']],
    ['a file that is no certificate', 'no certificate', TEST_KEY, ['TLS_CERT_FILE: the file must contain a certificate in PEM format']],
    ['a file that is no key', TEST_CERTIFICATE, 'no key', ['TLS_KEY_FILE: the file must contain a private key in PEM format, without a passphrase']],
    ['a key with a passphrase', TEST_CERTIFICATE, encrypted, ['TLS_KEY_FILE: the file must contain a private key in PEM format, without a passphrase']],
    ['exchanged files', TEST_KEY, TEST_CERTIFICATE, ['TLS_CERT_FILE: the file must contain a certificate in PEM format', 'TLS_KEY_FILE: the file must contain a private key in PEM format, without a passphrase']],
    ['a file whose second certificate is cut off', `${TEST_CERTIFICATE}\n${TEST_CERTIFICATE.slice(0, 300)}`, TEST_KEY, ['TLS_CERT_FILE: every certificate of the file must be complete, and its key long enough']],
    ['the key of another certificate', TEST_CERTIFICATE, OTHER_KEY, ['TLS_KEY_FILE: the key does not belong to the first certificate of TLS_CERT_FILE']],
  ])('names the variable for %s', (_, cert, key, problems) => {
    expect(read(cert, key)).toEqual({ certificate: null, problems });
  }); // oxfmt-ignore
});
