import tls from 'node:tls';
import { afterAll, beforeAll } from '@jest/globals';
import { TEST_CERTIFICATE } from '../tls-certificate.ts';

/**
 * Makes connections of this process trust the certificate of the test servers, until the calling
 * suite ends. Call it in the first lines of the suite.
 */
export function trustTestCertificate(): void {
  const before = tls.getCACertificates('default');
  beforeAll(() => tls.setDefaultCACertificates([...before, TEST_CERTIFICATE]));
  // The next test file in this process may need an untrusted certificate.
  afterAll(() => tls.setDefaultCACertificates(before));
}
