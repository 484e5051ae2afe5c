import type { UnreadObject } from './calendar-port.ts';
import type { ProviderAccount } from './provider-account.ts';

/**
 * A contact as the provider keeps it: the field names of the API (docs/contacts.md), with `groups`
 * as names.
 */
export type ContactContent = Readonly<Record<string, unknown>>;

/** A contact that is new or changed at the provider. */
export interface RemoteContact {
  providerId: string;
  /**
   * The `key` given to `createContact`, if the contact was made by it. `null` if the contact has no
   * UID.
   */
  uid: string | null;
  content: ContactContent;
  /**
   * Identifies the current picture: it changes whenever the picture changes. `null` if the contact
   * has no picture.
   */
  picture: string | null;
  /** See `RemoteEvent.warnings`. */
  warnings?: readonly string[];
}

/**
 * Changes in the address books of an account. If a group was renamed or deleted, all of its
 * contacts are reported: the mirror stores the names of groups with the contacts.
 */
export interface ContactChanges {
  /** Opaque; pass it to the next call. Store it only after everything below has been stored. */
  cursor: string;
  more: boolean;
  contacts: readonly RemoteContact[];
  /** `providerId`s of deleted contacts. */
  removed: readonly string[];
  /** See `EventChanges.present`. */
  present: readonly string[] | null;
  /** Paths or ids of the objects that were read for this answer. Absent if `unread` is. */
  read?: readonly string[];
  /** Objects that could not be read, or only in part. Absent: none. */
  unread?: readonly UnreadObject[];
}

export interface ContactPicture {
  contentType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
  bytes: Buffer;
}

/** The address books of an account, treated as one. */
export interface ContactsPort {
  /** Whether the account has an address book. Uses no network. */
  hasAddressBook(account: ProviderAccount): boolean;
  /** See `CalendarPort.asStored`. */
  asStored?(account: ProviderAccount, contact: ContactContent): ContactContent;
  /**
   * Returns the changes since `cursor` (`null`: everything).
   * @throws {ProviderError} `unsupported` if the account has no address book
   */
  listContactChanges(
    account: ProviderAccount,
    cursor: string | null,
    limit: number,
  ): Promise<ContactChanges>;
  /**
   * Returns the picture of a contact, or `null` if it has none or none that can be shown.
   * @throws {ProviderError} `not-found` if the contact was deleted
   */
  contactPicture(account: ProviderAccount, providerId: string): Promise<ContactPicture | null>;
  /** @param key repeating a call with the same key creates no second contact */
  createContact(
    account: ProviderAccount,
    key: string,
    contact: ContactContent,
  ): Promise<{ providerId: string }>;
  /**
   * @param base see `CalendarPort.updateEvent`; entries of lists are merged one by one
   * @throws {ProviderError} `not-found`; `conflict` if a text field was changed to a different
   *   value at the provider as well
   */
  updateContact(
    account: ProviderAccount,
    providerId: string,
    contact: ContactContent,
    base?: ContactContent | null,
  ): Promise<void>;
  /** Deleting a contact that does not exist is not an error. */
  deleteContact(account: ProviderAccount, providerId: string): Promise<void>;
}
