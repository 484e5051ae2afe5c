import tls from 'node:tls';
import { afterAll, beforeAll } from '@jest/globals';
import { TEST_CERTIFICATE } from '../tls-certificate.ts';

/** Connections of this process trust the certificate of the test servers; until the suite ends, whose first lines call this. */
export function trustTestCertificate(): void {
  const before = tls.getCACertificates('default');
  beforeAll(() => tls.setDefaultCACertificates([...before, TEST_CERTIFICATE]));
  // The next file of this process may be about certificates nobody trusts.
  afterAll(() => tls.setDefaultCACertificates(before));
}
