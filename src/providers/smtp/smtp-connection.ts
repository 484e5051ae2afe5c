import type { Socket } from 'node:net';
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js';
import XOAuth2 from 'nodemailer/lib/xoauth2/index.js';
import { REPLY_BYTES } from './smtp-replies.ts';
import type { SmtpLimits, SmtpServer } from './smtp-settings.ts';

/**
 * The library's connection over a socket that is open already.
 * @param leftMs time that is left for encryption and the greeting, in milliseconds
 */
export function connectionOf(
  server: SmtpServer,
  limits: SmtpLimits,
  socket: Socket,
  leftMs: number,
  customAuth: SMTPConnection.Options['customAuth'],
): SMTPConnection {
  return new SMTPConnection({
    host: server.host,
    port: server.port,
    name: limits.name,
    connection: socket,
    secure: server.security === 'tls',
    requireTLS: server.security === 'starttls',
    ignoreTLS: server.security === 'none',
    tls: {
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(limits.ca ? { ca: limits.ca } : {}),
    },
    connectionTimeout: leftMs,
    greetingTimeout: leftMs,
    // The session sets its own time limits. The library has a single one for all waits, so it gets
    // a value that never applies first.
    socketTimeout:
      2 * Math.max(limits.commandMs, limits.contentMs, limits.confirmationMs, limits.idleMs),
    // An abandoned exchange must be cut: a polite close would still send the rest of the content.
    socketCloseTimeout: 0,
    maxResponseSize: REPLY_BYTES,
    customAuth,
  });
}

/** The login in the form that the library expects. */
export function authOf(login: NonNullable<SmtpServer['login']>) {
  const { user } = login;
  if ('accessToken' in login) {
    return {
      user,
      method: 'XOAUTH2',
      oauth2: new XOAuth2({ user, accessToken: login.accessToken }),
    };
  }
  return { user, credentials: { user, pass: login.password } };
}

/** Texts that must never be shown: the password or token of the login. */
export function secretsOf(login: SmtpServer['login']): string[] {
  if (!login) return [];
  const { user } = login;
  // Also in the form sent to the server (RFC 4616, XOAUTH2): some servers repeat the command that
  // they refuse.
  if (!('accessToken' in login)) return [login.password, `\0${user}\0${login.password}`];
  return [login.accessToken, `user=${user}\u0001auth=Bearer ${login.accessToken}\u0001\u0001`];
}
