import fs from 'node:fs';
import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import { ConfigError } from '../../config/app-config.ts';
import { readCertificate, type TlsFiles } from '../../config/sections/tls-config.ts';
import { SERVER_LIMITS } from './server-limits.ts';

const OLDEST_VERSION = 'TLSv1.2';

/**
 * Options of the HTTPS server.
 * @throws {ConfigError} if a file cannot be read, or the key does not belong to the certificate
 */
export function tlsOptions(files: TlsFiles) {
  const problems: string[] = [];
  const certificate = readCertificate(files, problems);
  if (!certificate) throw new ConfigError(problems);
  return {
    ...certificate,
    minVersion: OLDEST_VERSION,
    handshakeTimeout: SERVER_LIMITS.headersTimeout,
  } as const;
}

/**
 * Uses new files for new connections, without a restart. Files that do not fit together, such as
 * the moment between two copies, are logged, and the old certificate is kept.
 * @param everyMs how often the files are checked
 */
export function renewCertificate(server: Server, files: TlsFiles, everyMs = 30_000): void {
  const log = new Logger('Tls');
  const renew = (): void => {
    const problems: string[] = [];
    const certificate = readCertificate(files, problems);
    if (certificate) {
      server.setSecureContext({ ...certificate, minVersion: OLDEST_VERSION });
      log.log('using the new certificate of TLS_CERT_FILE');
    } else {
      log.warn(`keeping the old certificate, because of the new files: ${problems.join('; ')}`);
    }
  };
  for (const file of [files.certFile, files.keyFile])
    fs.watchFile(file, { interval: everyMs, persistent: false }, renew);
  server.once('close', () => {
    for (const file of [files.certFile, files.keyFile]) fs.unwatchFile(file, renew);
  });
}
