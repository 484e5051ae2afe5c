import type { MailServers } from '../../port/mail-discovery.ts';
import { registrableDomain } from '../registrable-domain.ts';

/** A server that was found, and who logs in there. */
export interface FoundServer {
  host: string;
  port: number;
  security: 'tls' | 'starttls';
  user: string;
}

/** What one source knows of an address. */
export interface Found {
  imap?: FoundServer;
  smtp?: FoundServer;
  caldavUrl?: string;
  carddavUrl?: string;
}

export const NOTHING: Found = Object.freeze({});

const HOST_NAME =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Whether a text from elsewhere can be a host name or an IPv4 address. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

/**
 * Whether a host belongs to whoever has the domain: it is the domain, or below it. Below a public suffix (`eu.org`) hosts are
 * those of others, although there may be mail addresses of the suffix itself.
 */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || (!isShared(domain) && host.endsWith(`.${domain}`));
}

/** Whether hosts below this domain belong to others. */
export function isShared(domain: string): boolean {
  return registrableDomain(domain) === null;
}

/** As settings of an account; undefined: one of the two servers is not known. */
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
