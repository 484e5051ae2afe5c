import type { EgressClient } from '../../platform/egress/egress-client.ts';
import type { EgressPolicy } from '../../platform/egress/egress-policy.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Connector, MailboxSettings, ProviderAccount } from '../port/connector.ts';
import type { MailDiscovery } from '../port/sign-in/mail-discovery.ts';
import type { SmtpSender } from '../smtp/smtp-sender.ts';
import { checkDavServer } from './dav/dav-accounts.ts';
import { DavCalendars } from './dav/calendars/dav.calendars.ts';
import { DavContacts } from './dav/contacts/dav.contacts.ts';
import { verifyImapAccount } from './imap-account.ts';
import { mergeImapSettings } from './servers/imap-complete.ts';
import { ImapChanges } from './changes/imap-changes.ts';
import type { ImapLimits } from './sessions/imap-limits.ts';
import { ImapMailbox } from './messages/imap-mailbox.ts';
import { imapMailbox, proveImap } from './servers/imap-ownership.ts';
import { ImapSessions } from './sessions/imap-sessions.ts';
import { imapIntegration } from './imap.integration.ts';
import { ImapMail } from './imap.mail.ts';
import { imapOauth } from './imap.oauth.ts';
import { imapInput, SHOWN_IMAP_SETTINGS } from './imap.settings.ts';
import { detectImap, imapNativeSettings, imapSignIn, provenByServers } from './imap.sign-in.ts';

/** Dependencies of the connector. */
export interface ImapDependencies {
  policy: EgressPolicy;
  egress: EgressClient;
  clock: Clock;
  smtp: SmtpSender;
  discovery: MailDiscovery;
  threads: WorkThreads;
  limits?: Partial<ImapLimits>;
}

/**
 * Accounts at any provider with IMAP and SMTP, and with CalDAV and CardDAV if the provider has
 * them.
 */
export class ImapConnector implements Connector {
  readonly name = 'imap';
  readonly integration = imapIntegration;
  readonly oauth = imapOauth;
  readonly signIn = imapSignIn;
  readonly nativeSettings = imapNativeSettings;
  readonly provenByIntegration = provenByServers;
  readonly settingsSchema = imapInput;
  readonly shownSettings = SHOWN_IMAP_SETTINGS;
  readonly mergeSettings = mergeImapSettings;
  readonly mailboxKey = imapMailbox;
  readonly receivesMail = true;
  readonly mail: ImapMail;
  readonly mailbox: ImapMailbox;
  readonly calendar: DavCalendars;
  readonly contacts: DavContacts;
  readonly #sessions: ImapSessions;

  constructor(private readonly dependencies: ImapDependencies) {
    const { policy, egress, clock, smtp, threads, limits = {} } = dependencies;
    this.#sessions = new ImapSessions(policy, limits);
    this.mail = new ImapMail(this.#sessions, smtp, new ImapChanges(this.#sessions, threads));
    this.mailbox = new ImapMailbox(this.#sessions);
    this.calendar = new DavCalendars(egress, clock, threads);
    this.contacts = new DavContacts(egress, clock, threads);
  }

  verify(account: Omit<ProviderAccount, 'accountId'>) {
    const { policy, discovery, limits } = this.dependencies;
    return verifyImapAccount(account, {
      policy,
      discovery,
      sessions: this.#sessions,
      checkDav: (server, allowance) => checkDavServer(this.dependencies, server, allowance),
      ...(limits?.ca === undefined ? {} : { ca: limits.ca }),
    });
  }

  prove(account: MailboxSettings) {
    return proveImap(account, this.dependencies.discovery);
  }

  detect(email: string) {
    return detectImap(email, this.dependencies.discovery);
  }

  /** Closes all connections to mailboxes. */
  close() {
    return this.#sessions.close();
  }
}
