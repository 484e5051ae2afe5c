import { createPrivateKey, X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';

/** Variables of the server's own TLS certificate. */
export const tlsVariables = {
  TLS_CERT_FILE: z.string().trim().min(1).optional(),
  TLS_KEY_FILE: z.string().trim().min(1).optional(),
};

/** The files of the server's certificate. */
export interface TlsFiles {
  /** PEM: the certificate, then those of its issuers. */
  certFile: string;
  /** PEM: the private key, without a passphrase. */
  keyFile: string;
}

/** The files from the environment; `null` = the server speaks plain HTTP. */
export function tlsConfig(
  {
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
  }: Partial<Record<keyof typeof tlsVariables, string>>,
  problems: string[],
): TlsFiles | null {
  if (certFile === undefined && keyFile === undefined) return null;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  const missing = certFile === undefined ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE';
  problems.push(`${missing}: is required, because TLS_CERT_FILE and TLS_KEY_FILE belong together`);
  return null;
}

/** A certificate and its key, as PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

function read(variable: string, file: string, problems: string[]): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    problems.push(
      `${variable}: the file cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
    return '';
  }
}

function parse<T>(work: () => T, problem: string, problems: string[]): T | undefined {
  try {
    return work();
  } catch {
    problems.push(problem);
    return undefined;
  }
}

/**
 * Reads the files and checks that a server can use them, and that the key belongs to the
 * certificate.
 * @param problems receives a line for everything that is wrong; names variables, never their values
 * @returns `null` if something is wrong
 */
export function readCertificate(files: TlsFiles, problems: string[]): Certificate | null {
  const before = problems.length;
  const cert = read('TLS_CERT_FILE', files.certFile, problems);
  const key = read('TLS_KEY_FILE', files.keyFile, problems);
  if (problems.length > before) return null;
  const certificate = parse(
    () => new X509Certificate(cert),
    'TLS_CERT_FILE: the file must contain a certificate in PEM format',
    problems,
  );
  const privateKey = parse(
    () => createPrivateKey(key),
    'TLS_KEY_FILE: the file must contain a private key in PEM format, without a passphrase',
    problems,
  );
  if (!certificate || !privateKey) return null;
  if (!certificate.checkPrivateKey(privateKey)) {
    problems.push(
      'TLS_KEY_FILE: the key does not belong to the first certificate of TLS_CERT_FILE',
    );
    return null;
  }
  // A server reads all certificates, for example the last one of a file that is being written.
  const context = parse(
    () => createSecureContext({ cert, key }),
    'TLS_CERT_FILE: every certificate of the file must be complete, and its key long enough',
    problems,
  );
  return context ? { cert, key } : null;
}
