import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { type ContactFields, contactFields, mergeContacts } from '../port/contact-content.ts';
import { pictureOf } from '../port/contact-picture.ts';
import type {
  ContactChanges,
  ContactContent,
  ContactsPort,
  ProviderAccount,
} from '../port/connector.ts';
import { readCursor } from '../rest/cursor.ts';
import { ignoreGone, provenGone } from '../rest/gone.ts';
import { type GoogleApi, googlePages, type GoogleRequest, listedOnce } from './google-api.ts';
import { GoogleContactGroups, PEOPLE_COST } from './contacts/google-contact-groups.ts';
import { GoogleError } from './google-error.ts';
import { mayHaveCreated, RecentCreations } from './calendar/google-recent-creations.ts';
import {
  type GooglePerson,
  googlePerson,
  groupsOf,
  keyData,
  keyOf,
  PERSON_FIELDS,
  pictureUrlOf,
  readPerson,
  writePerson,
} from './google-person.ts';

const MOST_PER_PAGE = 1_000;
const MOST_ROUNDS = 5;
const PICTURE_BYTES = 5 * 1024 * 1024;
/** Scopes of which one is needed to read contacts. */
const READING: readonly string[] = ['contacts', 'contacts.readonly'].map(
  (name) => `https://www.googleapis.com/auth/${name}`,
);
const CONTACT = /^people\/[\w-]+$/;

const connections = z.object({
  connections: z.array(z.unknown()).default([]),
  nextPageToken: z.string().optional(),
  nextSyncToken: z.string().optional(),
});
const cursorShape = z.object({
  /** `null` while all contacts are listed. */
  syncToken: z.string().nullable(),
  pageToken: z.string().nullable(),
  /** Page size of the first request, which the following ones must have as well. */
  pageSize: z.number().int().positive().optional(),
  /** Digest of the names of the groups: Google reports no contact because its group changed. */
  groups: z.string(),
});
type Cursor = z.infer<typeof cursorShape>;

const BEGIN: Cursor = { syncToken: null, pageToken: null, groups: '' };

/** The contacts of a Google account, by the People API. */
export class GoogleContacts implements ContactsPort {
  readonly #recent = new RecentCreations();
  readonly #groups: GoogleContactGroups;

  constructor(private readonly api: GoogleApi) {
    this.#groups = new GoogleContactGroups(api);
  }

  /** Not if the user has not agreed to contacts. */
  hasAddressBook({ providerScopes }: ProviderAccount): boolean {
    return providerScopes === undefined || providerScopes.some((scope) => READING.includes(scope));
  }

  asStored(_account: ProviderAccount, contact: ContactContent): ContactContent {
    return { ...contactFields(contact) };
  }

  async listContactChanges(
    account: ProviderAccount,
    cursor: string | null,
    limit: number,
  ): Promise<ContactChanges> {
    const at = readCursor(cursor, cursorShape) ?? BEGIN;
    const groups = await this.#groups.names(account).catch(withoutAddressBook);
    const digest = digestOf(groups);
    // Groups have changed, which may change contacts that are not reported: all are read again.
    const isOther = at !== BEGIN && at.groups !== digest;
    const from = isOther ? BEGIN : at;
    try {
      return await this.#page(account, limit, { ...from, groups: digest }, groups);
    } catch (error) {
      // Google says 400 EXPIRED_SYNC_TOKEN, and 410 in older answers.
      const isOld =
        error instanceof GoogleError && [400, 410].includes(error.status) && !error.isPassing;
      if (!isOld || (from.syncToken === null && from.pageToken === null)) throw error;
      return this.#page(account, limit, { ...BEGIN, groups: digest }, groups);
    }
  }

  async contactPicture(account: ProviderAccount, providerId: string) {
    const url = pictureUrlOf(await this.#get(account, providerId));
    if (url === null) return null;
    try {
      return pictureOf((await this.api.fetchPublic(url, PICTURE_BYTES)).body);
    } catch (error) {
      if (!(error instanceof GoogleError) || ![404, 410].includes(error.status)) throw error;
      return null;
    }
  }

  /**
   * Lists show a new contact only after minutes. If the response to a creation was lost, the
   * creation is not repeated before then.
   */
  async createContact(account: ProviderAccount, key: string, contact: ContactContent) {
    const there = this.#recent.idOf(key) ?? (await this.#withKey(account, key));
    if (there !== undefined) {
      await this.updateContact(account, there, contact);
      return { providerId: there };
    }
    const wait = this.#recent.secondsToWait(key, this.api.now());
    if (wait > 0) throw notListedYet(wait);
    const fields = contactFields(contact);
    const groups = await this.#groups.ids(account, fields);
    try {
      const { resourceName } = await this.#create(account, key, fields, groups);
      this.#recent.note(key, resourceName, this.api.now());
      return { providerId: resourceName };
    } catch (error) {
      if (!mayHaveCreated(error)) throw error;
      this.#recent.note(key, null, this.api.now());
      throw notListedYet(this.#recent.secondsToWait(key, this.api.now()), error);
    }
  }

  #create(
    account: ProviderAccount,
    key: string,
    fields: ContactFields,
    groups: readonly string[],
  ): Promise<GooglePerson> {
    return this.#read(
      account,
      {
        method: 'POST',
        path: '/v1/people:createContact',
        // A repetition first looks for the key.
        repeatable: true,
        query: { personFields: 'metadata' },
        json: {
          ...writePerson(fields, fields, null),
          ...keyData(key),
          memberships: membershipsOf([MY_CONTACTS, ...groups]),
        },
      },
      googlePerson,
    );
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
      const person = await this.#unlessPassing(account, providerId, this.#get(account, providerId));
      const groups = await this.#groups.names(account);
      const theirs = readPerson(person, groups);
      const { write, conflicts } = mergeContacts(before, ours, theirs);
      if (conflicts.length > 0)
        throw new ProviderError(
          'conflict',
          `Changed: ${conflicts.join(', ')} at the provider in the meantime. Read the contact and repeat the changes you still want`,
        );
      if (Object.keys(write).length === 0) return;
      if (await this.#write(account, person, write, { ...theirs, ...write }, groups)) return;
    }
    throw new ProviderError(
      'temporary',
      'Other programs keep changing the contact; try again later',
    );
  }

  async deleteContact(account: ProviderAccount, providerId: string) {
    if (!CONTACT.test(providerId)) return;
    const path = `/v1/${providerId}:deleteContact`;
    const deleting = this.api.send(account, { method: 'DELETE', path, ...PEOPLE_COST });
    await ignoreGone(this.#unlessPassing(account, providerId, deleting));
  }

  /** Waits for a request about a contact. See `provenGone`. */
  #unlessPassing<T>(account: ProviderAccount, providerId: string, work: Promise<T>): Promise<T> {
    const query = { personFields: 'metadata' };
    const request = { method: 'GET', path: `/v1/${providerId}`, query, ...PEOPLE_COST } as const;
    return provenGone(work, {
      object: () => this.api.send(account, request),
      anchor: () => this.#groups.names(account),
    });
  }

  async #page(
    account: ProviderAccount,
    limit: number,
    { syncToken, pageToken, groups: digest, pageSize = Math.min(limit, MOST_PER_PAGE) }: Cursor,
    groups: ReadonlyMap<string, string>,
  ): Promise<ContactChanges> {
    const isFullList = syncToken === null && pageToken === null;
    const answer = await this.#connections(
      account,
      {
        personFields: PERSON_FIELDS,
        pageSize,
        requestSyncToken: true,
        syncToken: syncToken ?? undefined,
        pageToken: pageToken ?? undefined,
      },
      isFullList,
    );
    // An entry that cannot be read is left out: it must not block the others.
    const people = answer.connections.flatMap((one) => googlePerson.safeParse(one).data ?? []);
    const { nextPageToken, nextSyncToken = null } = answer;
    const more = nextPageToken !== undefined;
    const next: Cursor = more
      ? { syncToken, pageToken: nextPageToken, groups: digest, pageSize }
      : { syncToken: nextSyncToken, pageToken: null, groups: digest, pageSize };
    const alive = people.filter(({ metadata }) => !metadata.deleted);
    return {
      cursor: JSON.stringify(next),
      more,
      contacts: alive.map((person) => ({
        providerId: person.resourceName,
        uid: keyOf(person),
        content: { ...readPerson(person, groups) },
        picture: pictureUrlOf(person),
      })),
      removed: people.flatMap(({ metadata, resourceName }) =>
        metadata.deleted ? [resourceName] : [],
      ),
      present: syncToken === null && !more ? await listedOnce(() => this.#allIds(account)) : null,
    };
  }

  async #allIds(account: ProviderAccount): Promise<string[]> {
    const people = await this.#all(account, 'metadata');
    return people.map(({ resourceName }) => resourceName);
  }

  /** The contact that an earlier request with the key has created; its response was lost. */
  async #withKey(account: ProviderAccount, key: string): Promise<string | undefined> {
    const people = await this.#all(account, 'clientData');
    return people.find((person) => keyOf(person) === key)?.resourceName;
  }

  async #all(account: ProviderAccount, personFields: string): Promise<GooglePerson[]> {
    const found: GooglePerson[] = [];
    const pages = googlePages((pageToken) =>
      this.#connections(account, { personFields, pageSize: MOST_PER_PAGE, pageToken }),
    );
    for await (const page of pages) {
      for (const one of page.connections) {
        const person = googlePerson.safeParse(one).data;
        if (person) found.push(person);
      }
    }
    return found;
  }

  #connections(account: ProviderAccount, query: GoogleRequest['query'], isFullList = false) {
    return this.#read(
      account,
      { method: 'GET', path: '/v1/people/me/connections', ...(query ? { query } : {}), isFullList },
      connections,
    );
  }

  /** @throws {ProviderError} `not-found` */
  #get(account: ProviderAccount, providerId: string): Promise<GooglePerson> {
    if (!CONTACT.test(providerId))
      throw new ProviderError('not-found', 'Google: there is no such contact');
    const query = { personFields: PERSON_FIELDS };
    return this.#read(account, { method: 'GET', path: `/v1/${providerId}`, query }, googlePerson);
  }

  /** @returns `false` if another program has changed the contact meanwhile */
  async #write(
    account: ProviderAccount,
    person: GooglePerson,
    write: Partial<ContactFields>,
    contact: ContactFields,
    groups: ReadonlyMap<string, string>,
  ): Promise<boolean> {
    const fields: Record<string, unknown[]> = writePerson(write, contact, person);
    if (write.groups) {
      // Groups that the API does not show, such as the one of all contacts, stay.
      const others = groupsOf(person).filter((id) => !groups.has(id));
      fields['memberships'] = membershipsOf([
        ...others,
        ...(await this.#groups.ids(account, contact, groups)),
      ]);
    }
    const { etag, metadata } = person;
    try {
      const patching = this.api.send(account, {
        method: 'PATCH',
        path: `/v1/${person.resourceName}:updateContact`,
        query: { updatePersonFields: Object.keys(fields).join(',') },
        json: { etag, metadata: { sources: metadata.sources }, ...fields },
        repeatable: true,
        ...PEOPLE_COST,
      });
      await this.#unlessPassing(account, person.resourceName, patching);
      return true;
    } catch (error) {
      const isOther = error instanceof GoogleError && OTHER_VERSION.includes(error.reason ?? '');
      if (isOther && !error.isPassing) return false;
      throw error;
    }
  }

  #read<T>(
    account: ProviderAccount,
    request: Omit<GoogleRequest, 'units' | 'priority'>,
    shape: z.ZodType<T>,
  ): Promise<T> {
    return this.api.read(account, { ...request, ...PEOPLE_COST }, shape);
  }
}

/** An account whose user has not agreed to contacts has no address book. */
function withoutAddressBook(error: unknown): never {
  if (error instanceof GoogleError && error.isWithoutConsent)
    throw new ProviderError('unsupported', error.message, { cause: error });
  throw error;
}

const notListedYet = (retryAfterSeconds: number, cause?: ProviderError) =>
  new ProviderError(
    'temporary',
    `${cause ? `${cause.message}; ` : ''}Google lists new contacts only after minutes, so it is not known yet whether this one was created`,
    { retryAfterSeconds, cause },
  );

/** Reasons of a 400 that mean that the contact has another ETag. */
const OTHER_VERSION: readonly string[] = ['FAILED_PRECONDITION', 'failedPrecondition'];

function digestOf(groups: ReadonlyMap<string, string>): string {
  const text = JSON.stringify([...groups].map((one) => one.join(' ')).toSorted());
  return createHash('sha256').update(text).digest('base64url');
}

/** The group of all contacts that people see in their address book. */
const MY_CONTACTS = 'contactGroups/myContacts';

const membershipsOf = (groups: readonly string[]) =>
  groups.map((contactGroupResourceName) => ({
    contactGroupMembership: { contactGroupResourceName },
  }));
