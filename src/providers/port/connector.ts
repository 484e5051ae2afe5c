import type { ZodObject } from 'zod';
import type { Scope } from '../../platform/auth/scopes.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { AddressProof } from './sign-in/address-proof.ts';
import type { ProviderAccount } from './provider-account.ts';
import type { IntegrationDescriptor } from './sign-in/integration-descriptor.ts';
import type { OauthDescriptor } from './sign-in/oauth-descriptor.ts';
import type { DetectedProvider, SignInDescriptor } from './sign-in/sign-in-descriptor.ts';
import type { CalendarContent, CalendarPort } from './calendar-port.ts';
import type { ContactsPort } from './contacts-port.ts';
import type { MailPort } from './mail/mail-port.ts';
import type { MailboxPort } from './mail/mailbox-port.ts';
import type { PushPort } from './push-port.ts';

export type * from './calendar-port.ts';
export type * from './contacts-port.ts';
export type * from './mail/mail-changes.ts';
export type * from './mail/mail-port.ts';
export type * from './mail/mailbox-port.ts';
export type * from './mail/message-content.ts';
export type * from './mail/message-ids.ts';
export type * from './sign-in/integration-descriptor.ts';
export type * from './sign-in/oauth-descriptor.ts';
export type * from './sign-in/sign-in-descriptor.ts';
export type * from './provider-account.ts';
export type * from './push-port.ts';
export type * from './mail/sent-lookup.ts';

/*
 * The interface that every provider implements. Required are `name`, `settingsSchema` and `verify`;
 * a mail provider also needs `mail`. Without `contacts`, contacts are stored only in Carillon. A
 * request that needs another absent port is refused with `UnsupportedProviderError`.
 *
 * Arguments and results are plain values: no entities, no ORM. The account is an argument of every
 * call; a connector keeps only connections and caches between calls.
 *
 * Unless its comment says otherwise, every method that uses the network may throw a `ProviderError`
 * with any code. `@throws` lists the codes that have a special meaning there. Any other error is a
 * bug and is treated as `temporary`.
 */

/** What the provider reports about an account after it accepted the credentials. */
export interface VerifiedAccount {
  email: string;
  name: string;
  organizationUnit: 'folder' | 'label';
  /**
   * The settings, completed with values that `verify` found out. Absent if the given settings stay
   * as they are.
   */
  settings?: Readonly<Record<string, unknown>>;
  /** The proof of the address, if verifying has already produced one. Absent or `null` if not. */
  proof?: AddressProof | null;
  /**
   * A value of the provider that stays the same if the address of this user changes. Absent or
   * `null` if the provider reports none; then the identity of the sign-in counts, if there is one.
   */
  subject?: string | null;
  /**
   * The scopes that the provider covers, if verifying has found that some are not covered. Absent
   * or `null` if it has found none.
   */
  covered?: readonly Scope[] | null;
}

/** An address and the settings of its mailbox. Together they identify a mailbox. */
export type MailboxSettings = Pick<ProviderAccount, 'email' | 'settings'>;

/** An account as a sign-in reports it, before a grant exists. */
export interface SignedInMailbox extends MailboxSettings {
  /** The address that the authorization server reported; `null` if none did. */
  claimedEmail: string | null;
}

/** What applications can register for a provider, and how it is named to users and clients. */
export interface Provider {
  readonly name: string;
  /** Absent if applications cannot have an integration for it. */
  readonly integration?: IntegrationDescriptor;
}

export interface Connector extends Provider {
  /** How its accounts sign in by OAuth. Absent if none of them do. */
  readonly oauth?: OauthDescriptor;
  /** How it is offered on the sign-in pages. Absent if it is not. */
  readonly signIn?: SignInDescriptor;
  /** Provider name in account objects, such as `gmail`; default `name`. */
  readonly accountProvider?: string;
  /**
   * Why accounts of this provider cannot be connected or sign in again, such as a setting of the
   * operator. Absent or `null` if they can. Connected accounts keep working.
   */
  readonly turnedOff?: string | null;
  /**
   * Whether the settings of a native sign-in under one of `signIn.names` are for this provider. If
   * absent, none are.
   * @returns the settings for `settingsSchema`, without names that the connector has translated;
   *   `null` if another provider must take them
   * @throws {InvalidInputError} for settings that no provider can take
   */
  nativeSettings?(
    name: string,
    settings: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> | null;
  /**
   * Detects whether an address belongs to this provider, or to one that it can serve. May query DNS
   * for some seconds. Never throws.
   */
  detect?(email: string): Promise<DetectedProvider | null>;
  /**
   * The proof that the settings of the application's integration give: the application itself has
   * named the servers, and the address can sign in there under its own name. Absent if an
   * integration proves nothing.
   */
  provenByIntegration?(
    account: SignedInMailbox,
    integration: Readonly<Record<string, unknown>>,
  ): AddressProof | null;
  /**
   * The scopes that accounts of this provider may have. They are also the default if a request
   * names none. Absent if all scopes are allowed.
   */
  readonly scopes?: readonly string[];
  /**
   * Validates the settings given when an account is connected: an object that declares every name.
   * Names that neither it nor `OauthDescriptor.signInSettings` declares are reported to the client
   * and dropped; `STRICT_REQUESTS` and changes of accounts refuse them (ADR 0107).
   */
  readonly settingsSchema: ZodObject;
  /**
   * Checks the credentials with the provider before a grant is created.
   * @throws {ProviderError} `auth-invalid` if the provider refuses them
   */
  verify(account: Omit<ProviderAccount, 'accountId'>): Promise<VerifiedAccount>;
  /**
   * Key of the mailbox that complete settings refer to. Uses no network. Two accounts with the same
   * address and different keys are separate accounts (ADR 0056). Absent if an address has only one
   * mailbox.
   */
  mailboxKey?(account: MailboxSettings): string;
  /**
   * Deletes what the connector itself stores for an application whose accounts are gone. Absent if
   * it stores nothing.
   * @param most maximum number of rows
   * @returns how many it deleted; 0 if none is left
   */
  forgetApplication?(sql: Sql, applicationId: string, most: number): Promise<number>;
  /**
   * Searches for a proof that the mailbox of these complete settings belongs to the address. May
   * query DNS and the servers of the domain for some seconds. Never sends a secret and never
   * throws.
   * @returns `null` if there is no proof or no server could be reached. A connector without this
   *   method never has a proof
   */
  prove?(account: MailboxSettings): Promise<AddressProof | null>;
  /**
   * Names of stored settings that the application may read: all but secrets. If absent, none are
   * shown. Each is also a setting of requests.
   */
  readonly shownSettings?: readonly string[];
  /**
   * Whether mail sent to the address over the internet can arrive in its mailbox. Default `false`.
   */
  readonly receivesMail?: boolean;
  /**
   * Applies a change to stored settings, before `settingsSchema` and `verify` run. If absent, each
   * key of the change replaces the stored one.
   * @param change as given in the request, not validated yet
   * @throws {ProviderError} if the change is not complete
   */
  mergeSettings?(
    stored: Readonly<Record<string, unknown>>,
    change: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
  /**
   * The primary calendar that every new account gets at once. Absent if the mirror fetches the
   * calendars from the provider.
   */
  firstCalendar?(account: Pick<ProviderAccount, 'email' | 'name'>): CalendarContent;
  readonly mail?: MailPort;
  readonly mailbox?: MailboxPort;
  readonly calendar?: CalendarPort;
  readonly contacts?: ContactsPort;
  /** How the provider reports changes. Absent if it does not, or only through `MailPort.watch`. */
  readonly push?: PushPort;
  /** Closes open connections when the process ends. */
  close?(): Promise<void>;
}
