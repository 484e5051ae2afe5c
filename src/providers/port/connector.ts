import type { ZodType } from 'zod';
import type { AddressProof } from './address-proof.ts';
import type { ProviderAccount } from './provider-account.ts';
import type { ProviderName } from './provider-name.ts';
import type { CalendarContent, CalendarPort } from './calendar-port.ts';
import type { ContactsPort } from './contacts-port.ts';
import type { MailPort } from './mail-port.ts';
import type { MailboxPort } from './mailbox-port.ts';

export type * from './calendar-port.ts';
export type * from './contacts-port.ts';
export type * from './mail-port.ts';
export type * from './mailbox-port.ts';
export type * from './provider-account.ts';

/*
 * The port every provider implements. Plain values in, plain values or `ProviderError` out: no entity, no ORM.
 * Connectors are stateless; the account is an argument. Every method may throw `ProviderError`; anything else it
 * throws is a bug and treated as `temporary`.
 */

/** What the provider says about an account whose credentials it accepted. */
export interface VerifiedAccount {
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
  /** Settings completed by what was found out; absent: as they were given. */
  settings?: Readonly<Record<string, unknown>>;
  /** What proves the address, where verifying has shown it already; absent or null: nothing so far. */
  proof?: AddressProof | null;
}

/** An address and the settings that open its mailbox: what tells mailboxes apart. */
export type MailboxSettings = Pick<ProviderAccount, 'email' | 'settings'>;

export interface Connector {
  readonly name: ProviderName;
  /** The scopes its accounts have: never more, and these where none are asked for. Absent: any. */
  readonly scopes?: readonly string[];
  /** Settings accepted when an account is connected; unknown keys are dropped. */
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  /**
   * Checks the credentials with the provider before a grant is made.
   * @throws {ProviderError} `auth-invalid` when they are refused
   */
  verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount>;
  /**
   * Key of the mailbox that complete settings open; asks nobody. Two accounts of one address with different keys are two
   * accounts (ADR 0056). Absent: an address has one mailbox.
   */
  mailboxKey?(account: MailboxSettings): string;
  /**
   * What proves that the mailbox of these complete settings is that of the address. May ask DNS and the servers of the
   * domain for some seconds, never with a secret, and never throws.
   * @returns null: nothing proves it, or nobody could be asked. Absent: nothing ever proves it
   */
  prove?(account: MailboxSettings): Promise<AddressProof | null>;
  /** Whether mail that is sent to the address over the internet can arrive in its mailboxes. Default false. */
  readonly receivesMail?: boolean;
  /**
   * Stored settings with a change put over them, both before `settingsSchema` and `verify`; absent: name by name.
   * @param change as a request has it, not checked yet
   * @throws {ProviderError} when the change is not complete
   */
  mergeSettings?(
    stored: Readonly<Record<string, unknown>>,
    change: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
  /** The primary calendar that every new account has at once. Absent: those there are come by the mirror. */
  firstCalendar?(account: Pick<ProviderAccount, 'email' | 'name'>): CalendarContent;
  readonly mail?: MailPort;
  readonly mailbox?: MailboxPort;
  readonly calendar?: CalendarPort;
  readonly contacts?: ContactsPort;
  /** Closes what it keeps open, when the process ends. */
  close?(): Promise<void>;
}
