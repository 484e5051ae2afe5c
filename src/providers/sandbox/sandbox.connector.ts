import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import type { AddressProof } from '../port/sign-in/address-proof.ts';
import type { Connector, MailboxSettings, ProviderAccount } from '../port/connector.ts';
import { PLAIN_INTEGRATION } from '../port/sign-in/integration-descriptor.ts';
import type { SignInDescriptor } from '../port/sign-in/sign-in-descriptor.ts';
import { SandboxCalendars } from './sandbox.calendar.ts';
import { SandboxContacts } from './sandbox.contacts.ts';
import { SandboxFaults } from './sandbox.faults.ts';
import { SandboxFolders } from './sandbox.folders.ts';
import { SandboxMailStore } from './sandbox.mail-store.ts';
import { SandboxMail } from './sandbox.mail.ts';
import { deleteSandboxOf } from './sandbox.removal.ts';
import { SandboxMailbox } from './sandbox.mailbox.ts';
import { login, sandboxSettings } from './sandbox.settings.ts';

const SIGN_IN: SignInDescriptor = {
  order: 40,
  title: 'Sandbox',
  hint: 'A mailbox for testing',
  password: {
    heading: 'Sign in to the sandbox',
    passwordHint: 'A mailbox for testing: any password works except “wrong”.',
    passwordRequired: false,
    servers: false,
  },
  withoutIntegration: 'if-there-is-none',
  names: [],
};

/**
 * A provider inside Carillon's own database. Mailboxes of one application deliver to each other,
 * and nothing leaves the sandbox. Each mailbox also has calendars and an address book. Magic
 * recipients produce every kind of failure (docs/providers/sandbox.md).
 */
export class SandboxConnector implements Connector {
  readonly name = 'sandbox';
  readonly integration = PLAIN_INTEGRATION;
  readonly signIn = SIGN_IN;
  readonly turnedOff: string | null;
  readonly settingsSchema = sandboxSettings;
  readonly shownSettings = ['name', 'organization_unit', 'sent_copies', 'sample_messages'];
  readonly mail: SandboxMail;
  readonly mailbox: SandboxMailbox;
  readonly calendar: SandboxCalendars;
  readonly contacts: SandboxContacts;

  /** @param isOn whether accounts can be connected (`SANDBOX`) */
  constructor(database: Database, clock: Clock, threads: WorkThreads, isOn = true) {
    this.turnedOff = isOn ? null : 'its operator decides with SANDBOX';
    const faults = new SandboxFaults(database);
    const store = new SandboxMailStore(database);
    const folders = new SandboxFolders(database);
    this.mail = new SandboxMail(store, folders, faults, clock, threads);
    const changed = (account: ProviderAccount) => this.mail.notify(account);
    this.mailbox = new SandboxMailbox(store, folders, faults, clock, changed);
    this.calendar = new SandboxCalendars(database, faults);
    this.contacts = new SandboxContacts(database, faults);
  }

  forgetApplication(sql: Sql, applicationId: string, most: number): Promise<number> {
    return deleteSandboxOf(sql, applicationId, most);
  }

  /** Accepts every address. Refuses the passwords `wrong` and `invalid`. */
  async verify(account: Omit<ProviderAccount, 'accountId'>) {
    const settings = login(account);
    return {
      email: account.email.toLowerCase(),
      name: account.name || settings.name || nameFrom(account.email),
      organizationUnit: settings.organization_unit ?? 'folder',
      proof: proofOf(account.email),
    };
  }

  /** `sandbox.test` and its subdomains. */
  async detect(email: string) {
    return /[@.]sandbox\.test$/i.test(email) ? { providerName: this.name, isImap: false } : null;
  }

  prove({ email }: MailboxSettings) {
    return Promise.resolve(proofOf(email));
  }
}

/** Domains reserved for tests and documentation, which nobody can own (RFC 2606, RFC 6761). */
const RESERVED = /@(?:[^@]+\.)?(?:test|example|invalid|localhost|example\.(?:com|net|org))$/i;

/** The sandbox accepts every login, so it only proves addresses under reserved domains. */
function proofOf(email: string): AddressProof | null {
  return RESERVED.test(email) ? 'sandbox' : null;
}

/** `ada.lovelace+work@…` → `Ada Lovelace`. */
function nameFrom(email: string): string {
  const [local = email] = email.split('@');
  const words = local
    .replace(/\+.*$/, '')
    .split(/[._-]+/)
    .filter(Boolean);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ') || local;
}
