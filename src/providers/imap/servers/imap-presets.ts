import { domainToASCII } from 'node:url';
import type { KnownMailProvider, MailServers } from '../../port/sign-in/mail-discovery.ts';
import { type FoundServer, toServers } from '../discovery/found.ts';

/** A mail provider whose servers are known. */
export interface ImapPreset extends KnownMailProvider {
  imap: PresetServer;
  smtp: PresetServer;
  /** Whether its SMTP server files sent messages itself. Default false. */
  filesSent?: boolean;
  caldavUrl?: string;
  carddavUrl?: string;
  /**
   * Domains of its addresses, in lower case. `.example.test` stands for all domains below
   * example.test.
   */
  domains: readonly string[];
  /** Endings of the names of its mail exchangers, to recognise customers' own domains. */
  exchangers: readonly string[];
}

type PresetServer = Omit<FoundServer, 'user'>;

const tls = (host: string, port = 993): PresetServer => ({ host, port, security: 'tls' });
const starttls = (host: string): PresetServer => ({ host, port: 587, security: 'starttls' });

const APP_PASSWORD = (where: string) =>
  `The normal password of the account is not accepted here: create an app password at ${where} and use it instead.`;
const MICROSOFT =
  'Microsoft no longer accepts passwords for IMAP, and for SMTP it switches them off by default at the end of December 2026. Connect the account with the provider "microsoft" instead, or sign in by OAuth with IMAP.AccessAsUser.All and SMTP.Send.';

const outlook = {
  oauth: 'microsoft',
  hint: MICROSOFT,
  imap: tls('outlook.office365.com'),
  smtp: starttls('smtp-mail.outlook.com'),
  filesSent: true,
} as const;

/**
 * Every preset. The user name is the whole address at all of them. Hosts are taken from each
 * provider's own help pages.
 */
export const IMAP_PRESETS: readonly ImapPreset[] = [
  {
    preset: 'gmail',
    title: 'Gmail',
    providerName: 'gmail',
    oauth: 'google',
    hint: APP_PASSWORD('https://myaccount.google.com/apppasswords'),
    imap: tls('imap.gmail.com'),
    smtp: tls('smtp.gmail.com', 465),
    filesSent: true,
    caldavUrl: 'https://apidata.googleusercontent.com/caldav/v2/',
    carddavUrl: 'https://www.googleapis.com/.well-known/carddav',
    domains: ['gmail.com', 'googlemail.com'],
    exchangers: ['google.com', 'googlemail.com'],
  },
  {
    ...outlook,
    preset: 'outlook',
    title: 'Outlook.com',
    providerName: 'outlook',
    domains: ['outlook.com', 'outlook.de', 'outlook.fr', 'live.com', 'msn.com'],
    exchangers: ['olc.protection.outlook.com'],
  },
  {
    ...outlook,
    preset: 'hotmail',
    title: 'Hotmail',
    providerName: 'hotmail',
    domains: [
      'hotmail.com',
      'hotmail.co.uk',
      'hotmail.de',
      'hotmail.fr',
      'hotmail.it',
      'hotmail.es',
    ],
    exchangers: [],
  },
  {
    ...outlook,
    preset: 'office365',
    title: 'Microsoft 365',
    providerName: 'office365',
    smtp: starttls('smtp.office365.com'),
    domains: ['.onmicrosoft.com'],
    exchangers: ['mail.protection.outlook.com', 'mx.microsoft'],
  },
  {
    preset: 'icloud',
    title: 'iCloud Mail',
    providerName: 'icloud',
    oauth: null,
    hint: APP_PASSWORD('https://account.apple.com (App-Specific Passwords)'),
    imap: tls('imap.mail.me.com'),
    smtp: starttls('smtp.mail.me.com'),
    caldavUrl: 'https://caldav.icloud.com/',
    carddavUrl: 'https://contacts.icloud.com/',
    domains: ['icloud.com', 'me.com', 'mac.com'],
    exchangers: ['mail.icloud.com'],
  },
  {
    preset: 'yahoo',
    title: 'Yahoo Mail',
    providerName: 'yahoo',
    oauth: null,
    hint: APP_PASSWORD('https://login.yahoo.com/account/security'),
    imap: tls('imap.mail.yahoo.com'),
    smtp: tls('smtp.mail.yahoo.com', 465),
    caldavUrl: 'https://caldav.calendar.yahoo.com/',
    carddavUrl: 'https://carddav.address.yahoo.com/',
    domains: [
      'yahoo.com',
      'yahoo.co.uk',
      'yahoo.de',
      'yahoo.fr',
      'yahoo.it',
      'yahoo.es',
      'yahoo.ca',
      'yahoo.com.au',
      'yahoo.com.br',
      'yahoo.co.in',
      'yahoo.in',
      'ymail.com',
      'rocketmail.com',
    ],
    exchangers: ['am0.yahoodns.net'],
  },
  {
    preset: 'aol',
    title: 'AOL Mail',
    providerName: 'aol',
    oauth: null,
    hint: APP_PASSWORD('https://login.aol.com/account/security'),
    imap: tls('imap.aol.com'),
    smtp: tls('smtp.aol.com', 465),
    domains: ['aol.com', 'aol.de', 'aol.co.uk', 'aol.fr', 'aim.com'],
    exchangers: ['mx-aol.mail.gm0.yahoodns.net'],
  },
  {
    preset: 'fastmail',
    title: 'Fastmail',
    providerName: 'imap',
    oauth: null,
    hint: APP_PASSWORD('https://app.fastmail.com/settings/security'),
    imap: tls('imap.fastmail.com'),
    smtp: tls('smtp.fastmail.com', 465),
    caldavUrl: 'https://caldav.fastmail.com/',
    carddavUrl: 'https://carddav.fastmail.com/',
    domains: ['fastmail.com', 'fastmail.fm', 'fastmail.net', 'fastmail.org', 'sent.com'],
    exchangers: ['messagingengine.com'],
  },
  {
    preset: 'gmx',
    title: 'GMX',
    providerName: 'imap',
    oauth: null,
    hint: 'Access by IMAP must first be allowed in the settings of the mailbox (Settings, POP3/IMAP).',
    imap: tls('imap.gmx.net'),
    smtp: tls('mail.gmx.net', 465),
    domains: ['gmx.de', 'gmx.net', 'gmx.at', 'gmx.ch'],
    exchangers: ['gmx.net'],
  },
  {
    preset: 'web.de',
    title: 'WEB.DE',
    providerName: 'imap',
    oauth: null,
    hint: 'Access by IMAP must first be allowed in the settings of the mailbox (Settings, POP3/IMAP).',
    imap: tls('imap.web.de'),
    smtp: starttls('smtp.web.de'),
    domains: ['web.de'],
    exchangers: ['web.de'],
  },
  {
    preset: 'mailbox.org',
    title: 'mailbox.org',
    providerName: 'imap',
    oauth: null,
    hint: null,
    imap: tls('imap.mailbox.org'),
    smtp: tls('smtp.mailbox.org', 465),
    caldavUrl: 'https://dav.mailbox.org/caldav/',
    carddavUrl: 'https://dav.mailbox.org/carddav/',
    domains: ['mailbox.org'],
    exchangers: ['mailbox.org'],
  },
  {
    preset: 'posteo',
    title: 'Posteo',
    providerName: 'imap',
    oauth: null,
    hint: null,
    imap: tls('posteo.de'),
    smtp: tls('posteo.de', 465),
    domains: ['posteo.de', 'posteo.net', 'posteo.org'],
    exchangers: ['posteo.de'],
  },
  {
    preset: 'zoho',
    title: 'Zoho Mail',
    providerName: 'imap',
    oauth: null,
    hint: 'Access by IMAP must first be allowed in the settings of the mailbox; accounts with two-factor sign-in need an app password.',
    imap: tls('imap.zoho.com'),
    smtp: tls('smtp.zoho.com', 465),
    domains: ['zoho.com', 'zohomail.com'],
    exchangers: [],
  },
];

const BY_NAME = new Map(IMAP_PRESETS.map((preset) => [preset.preset, preset]));
const BY_DOMAIN = new Map(
  IMAP_PRESETS.flatMap((preset) => preset.domains.map((domain) => [domain, preset])),
);

/**
 * The part of an address after the last `@`, in lower case and in the form used by DNS (`xn--…`).
 * Empty if the part cannot be a domain.
 */
export function domainOf(email: string): string {
  return domainToASCII(email.slice(email.lastIndexOf('@') + 1));
}

export const PRESET_NAMES: readonly string[] = IMAP_PRESETS.map(({ preset }) => preset);

export function presetNamed(name: string): ImapPreset | undefined {
  return BY_NAME.get(name);
}

export function presetOfDomain(domain: string): ImapPreset | undefined {
  const labels = domain.split('.');
  const above = labels.map((_, index) => `.${labels.slice(index + 1).join('.')}`);
  return [domain, ...above]
    .map((name) => BY_DOMAIN.get(name))
    .find((preset) => preset !== undefined);
}

/** The preset whose mail exchangers have such a name. */
export function presetOfExchanger(host: string): ImapPreset | undefined {
  const name = host.toLowerCase().replace(/\.$/, '');
  return IMAP_PRESETS.find(({ exchangers }) =>
    exchangers.some((suffix) => name === suffix || name.endsWith(`.${suffix}`)),
  );
}

export function presetOfHost(host: string): ImapPreset | undefined {
  return IMAP_PRESETS.find(({ imap, smtp }) => imap.host === host || smtp.host === host);
}

/** The fields of a preset that the port exposes. */
export function knownOf({
  preset,
  title,
  providerName,
  oauth,
  hint,
}: ImapPreset): KnownMailProvider {
  return { preset, title, providerName, oauth, hint };
}

/** A preset as settings of one account. */
export function serversOf(
  { imap, smtp, filesSent, ...dav }: ImapPreset,
  email: string,
): MailServers {
  const servers = toServers({
    ...dav,
    imap: { ...imap, user: email },
    smtp: { ...smtp, user: email },
  });
  return filesSent ? { ...servers, smtp_files_sent: true } : servers;
}
