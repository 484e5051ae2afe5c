import { createHash } from 'node:crypto';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { CONTACT_FIELDS, contactFields, mergeContacts } from '../../port/contact-content.ts';
import { pictureOf } from '../../port/contact-picture.ts';
import type {
  ContactContent,
  ContactPicture,
  ContactsPort,
  ProviderAccount,
  RemoteContact,
} from '../../port/connector.ts';
import { ignoreGone, nullIfGone } from '../../rest/gone.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphContactChanges } from './graph-contact-changes.ts';
import {
  CONTACT_PROPERTIES,
  type GraphContact,
  graphContact,
  readContact,
  writeContact,
} from './graph-contact.ts';
import { GraphError } from '../graph-error.ts';
import { EXPAND_CONTACT, hasPicture, keyOf, withKey, writeExtension } from '../graph-extension.ts';
import { unlessPassing } from '../graph-second-look.ts';

const COST = { priority: 'interactive' } as const;
const MOST_ROUNDS = 5;
const PICTURE_BYTES = 5 * 1024 * 1024;
const pathOf = (id: string): string => `/contacts/${encodeURIComponent(id)}`;

/** The query for contacts with everything that Carillon reads. */
export const CONTACT_QUERY = { $select: CONTACT_PROPERTIES, $expand: EXPAND_CONTACT };

/** The contacts of all folders of a mailbox, by Microsoft Graph. */
export class GraphContacts implements ContactsPort {
  readonly #changes: GraphContactChanges;

  constructor(private readonly api: GraphApi) {
    this.#changes = new GraphContactChanges(api, {
      query: CONTACT_QUERY,
      find: (account, id) => nullIfGone(this.#get(account, id)),
      remoteOf,
    });
  }

  hasAddressBook() {
    return true;
  }

  asStored(_account: ProviderAccount, contact: ContactContent): ContactContent {
    return { ...contactFields(contact) };
  }

  listContactChanges(account: ProviderAccount, cursor: string | null, limit: number) {
    return this.#changes.list(account, cursor, limit);
  }

  async contactPicture(
    account: ProviderAccount,
    providerId: string,
  ): Promise<ContactPicture | null> {
    const path = `${pathOf(providerId)}/photo/$value`;
    try {
      const request = { method: 'GET', path, maxBodyBytes: PICTURE_BYTES, ...COST } as const;
      return pictureOf((await this.api.send(account, request)).body);
    } catch (error) {
      const isGone = error instanceof GraphError && error.code === 'not-found';
      if (!isGone) throw error;
      await this.#get(account, providerId);
      return null;
    }
  }

  async createContact(account: ProviderAccount, key: string, contact: ContactContent) {
    const there = await this.#withKey(account, key);
    if (there) {
      await this.updateContact(account, there.id, contact);
      return { providerId: there.id };
    }
    const fields = contactFields(contact);
    const { properties, extra } = writeContact(CONTACT_FIELDS, fields);
    const json = { ...properties, ...writeExtension(extra, key) };
    const request = { method: 'POST', path: '/contacts', json, ...COST } as const;
    return { providerId: (await this.api.read(account, request, graphContact)).id };
  }

  async updateContact(
    account: ProviderAccount,
    providerId: string,
    contact: ContactContent,
    base: ContactContent | null = null,
  ) {
    const ours = contactFields(contact);
    const before = base && contactFields(base);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const present = await this.#unlessPassing(
        account,
        providerId,
        this.#get(account, providerId),
      );
      const theirs = readContact(present);
      const { write, conflicts } = mergeContacts(before, ours, theirs);
      if (conflicts.length > 0)
        throw new ProviderError(
          'conflict',
          `Changed: ${conflicts.join(', ')} at the provider in the meantime. Read the contact and repeat the changes you still want`,
        );
      const changed = CONTACT_FIELDS.filter((name) => write[name] !== undefined);
      if (changed.length === 0) return;
      const { properties, extra } = writeContact(changed, { ...theirs, ...write });
      if (await this.#patch(account, present, { ...properties, ...writeExtension(extra) })) return;
    }
    throw new ProviderError(
      'temporary',
      'Other programs keep changing the contact; try again later',
    );
  }

  async deleteContact(account: ProviderAccount, providerId: string) {
    const request = { method: 'DELETE', path: pathOf(providerId), ...COST } as const;
    await ignoreGone(this.#unlessPassing(account, providerId, this.api.send(account, request)));
  }

  #unlessPassing<T>(account: ProviderAccount, id: string, work: Promise<T>): Promise<T> {
    return unlessPassing(this.api, account, { path: pathOf(id), part: 'contacts' }, work);
  }

  /** @returns `false` if another program has changed the contact meanwhile */
  async #patch(
    account: ProviderAccount,
    { id, '@odata.etag': etag }: GraphContact,
    json: Record<string, unknown>,
  ): Promise<boolean> {
    const headers: Record<string, string> = etag ? { 'if-match': etag } : {};
    const request = { method: 'PATCH', path: pathOf(id), headers, json, ...COST } as const;
    try {
      const patching = this.api.send(account, { ...request, repeatable: true });
      await this.#unlessPassing(account, id, patching);
      return true;
    } catch (error) {
      if (error instanceof GraphError && error.status === 412) return false;
      throw error;
    }
  }

  /** The contact that an earlier request with the key has created; its response was lost. */
  async #withKey(account: ProviderAccount, key: string): Promise<GraphContact | undefined> {
    const query = { $select: 'id', $filter: withKey(key), $top: 1 };
    const request = { method: 'GET', path: '/contacts', query, ...COST } as const;
    return (await this.api.all(account, request, graphContact))[0];
  }

  /** @throws {ProviderError} `not-found` */
  #get(account: ProviderAccount, providerId: string): Promise<GraphContact> {
    const path = pathOf(providerId);
    const request = { method: 'GET', path, query: CONTACT_QUERY, ...COST } as const;
    return this.api.read(account, request, graphContact);
  }
}

/** The etag stands for the picture: Graph has no version of its own for it. */
function remoteOf(contact: GraphContact): RemoteContact {
  const { id, '@odata.etag': etag, singleValueExtendedProperties: properties } = contact;
  const version = createHash('sha256')
    .update(etag ?? '')
    .digest('base64url')
    .slice(0, 16);
  return {
    providerId: id,
    uid: keyOf(properties),
    content: readContact(contact),
    picture: hasPicture(properties) ? version : null,
  };
}
