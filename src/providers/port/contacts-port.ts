import type { ProviderAccount } from './provider-account.ts';

/** A contact as the provider keeps it: the wire's own field names (api facts 8), and `groups` as names. */
export type ContactContent = Readonly<Record<string, unknown>>;

/** A contact that is new or changed at the provider. */
export interface RemoteContact {
  providerId: string;
  /** For a contact that was made by `createContact`: its key. Null: it has none. */
  uid: string | null;
  content: ContactContent;
  /** Another one for each picture; null: it has none. */
  picture: string | null;
}

/** Changes of an account's address books. */
export interface ContactChanges {
  /** Opaque; give it back next time. Only valid after everything below has been stored. */
  cursor: string;
  more: boolean;
  contacts: readonly RemoteContact[];
  /** `providerId`s of contacts that are gone. */
  removed: readonly string[];
  /** As `EventChanges.present`. */
  present: readonly string[] | null;
}

export interface ContactPicture {
  contentType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
  bytes: Buffer;
}

/** Address books of an account, taken together. */
export interface ContactsPort {
  /** Whether the account has one. No network. */
  hasAddressBook(account: ProviderAccount): boolean;
  /** As `CalendarPort.asStored`. */
  asStored?(account: ProviderAccount, contact: ContactContent): ContactContent;
  /** Changes since `cursor` (null: everything). `unsupported`: the account has no address book. */
  listContactChanges(
    account: ProviderAccount,
    cursor: string | null,
    limit: number,
  ): Promise<ContactChanges>;
  /**
   * The picture of a contact; null: it has none, or none that can be shown.
   * @throws {ProviderError} `not-found` when the contact is gone
   */
  contactPicture(account: ProviderAccount, providerId: string): Promise<ContactPicture | null>;
  /** @param key the same key makes the same contact */
  createContact(
    account: ProviderAccount,
    key: string,
    contact: ContactContent,
  ): Promise<{ providerId: string }>;
  /**
   * @param base as for `CalendarPort.updateEvent`; entries of lists are merged one by one
   * @throws {ProviderError} `not-found`; `conflict` when a text was changed there as well, and to something else
   */
  updateContact(
    account: ProviderAccount,
    providerId: string,
    contact: ContactContent,
    base?: ContactContent | null,
  ): Promise<void>;
  /** A contact that is already gone is not an error. */
  deleteContact(account: ProviderAccount, providerId: string): Promise<void>;
}
