import type { MailServers } from '../../port/sign-in/mail-discovery.ts';
import { registrableDomain } from '../servers/registrable-domain.ts';

/** A server that was found, and the user name for its login. */
export interface FoundServer {
  host: string;
  port: number;
  security: 'tls' | 'starttls';
  user: string;
}

/** What one source knows about an address. */
export interface Found {
  imap?: FoundServer;
  smtp?: FoundServer;
  caldavUrl?: string;
  carddavUrl?: string;
}

export const NOTHING: Found = Object.freeze({});

const HOST_NAME =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Whether untrusted text can be a host name or an IPv4 address. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

/**
 * Whether a host belongs to the owner of the domain: it is the domain itself or below it. Hosts
 * below a public suffix (`eu.org`) belong to other owners, although mail addresses of the suffix
 * itself may exist.
 */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || (!isShared(domain) && host.endsWith(`.${domain}`));
}

/** Whether hosts below this domain belong to other owners. */
export function isShared(domain: string): boolean {
  return registrableDomain(domain) === null;
}

/**
 * Converts found servers into settings of an account. `undefined` if one of the two servers is
 * unknown.
 */
export function toServers(found: Found & Pick<Required<Found>, 'imap' | 'smtp'>): MailServers;
export function toServers(found: Found): MailServers | undefined;
export function toServers({ imap, smtp, caldavUrl, carddavUrl }: Found): MailServers | undefined {
  if (!imap || !smtp) return undefined;
  return {
    imap_host: imap.host,
    imap_port: imap.port,
    imap_security: imap.security,
    imap_username: imap.user,
    smtp_host: smtp.host,
    smtp_port: smtp.port,
    smtp_security: smtp.security,
    smtp_username: smtp.user,
    ...(caldavUrl ? { caldav_url: caldavUrl } : {}),
    ...(carddavUrl ? { carddav_url: carddavUrl } : {}),
  };
}
