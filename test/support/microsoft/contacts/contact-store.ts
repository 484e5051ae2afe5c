import type { ExtendedProperties } from '../graph/extended-properties.ts';
import { type ItemIds, newContainerId, newItemIds } from '../graph/item-ids.ts';
import type { Json } from '../http/types.ts';
import type { ItemChange } from '../mail/mailbox.ts';

export interface ContactFolder {
  id: string;
  displayName: string;
  /** The folder that it is in; `null` for the default folder. */
  parentId: string | null;
}

export interface StoredContact extends ItemIds {
  folderId: string;
  /** Fields as requests set them. */
  fields: Json;
  photo: { content: Buffer; contentType: string } | null;
  extended: ExtendedProperties;
  created: Date;
  modified: Date;
  version: number;
}

/** Contacts of one user. */
export class ContactStore {
  readonly folders = new Map<string, ContactFolder>();
  onChange: ((change: ItemChange) => void) | null = null;
  readonly #contacts = new Map<string, StoredContact>();
  readonly #byRestId = new Map<string, StoredContact>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    const id = newContainerId();
    this.folders.set(id, { id, displayName: 'Contacts', parentId: null });
  }

  get defaultFolder(): ContactFolder {
    const found = [...this.folders.values()].find(({ parentId }) => parentId === null);
    if (!found) throw new Error('a user has a default folder of contacts');
    return found;
  }

  /** @param parent default: the default folder */
  addFolder(displayName: string, parent: ContactFolder = this.defaultFolder): ContactFolder {
    const folder = { id: newContainerId(), displayName, parentId: parent.id };
    this.folders.set(folder.id, folder);
    return folder;
  }

  foldersIn(parentId: string): ContactFolder[] {
    return [...this.folders.values()].filter((folder) => folder.parentId === parentId);
  }

  /** Removes a folder with everything in it. */
  removeFolder({ id }: ContactFolder): void {
    for (const folder of this.foldersIn(id)) this.removeFolder(folder);
    for (const contact of this.contactsIn(id)) this.remove(contact);
    this.folders.delete(id);
  }

  contactsIn(folderId: string): StoredContact[] {
    return [...this.#contacts.values()].filter((contact) => contact.folderId === folderId);
  }

  /** The contact with this id of either form. */
  contact(id: string): StoredContact | undefined {
    return this.#contacts.get(id) ?? this.#byRestId.get(id);
  }

  add(folderId: string, fields: Json): StoredContact {
    const now = new Date(this.#now());
    const times = { created: now, modified: now };
    const contact = {
      ...newItemIds(),
      folderId,
      fields,
      photo: null,
      extended: [],
      ...times,
      version: 1,
    };
    this.#contacts.set(contact.immutableId, contact);
    this.#byRestId.set(contact.restId, contact);
    this.#tell(contact, 'created');
    return contact;
  }

  update(
    contact: StoredContact,
    patch: Partial<Pick<StoredContact, 'fields' | 'photo' | 'extended'>>,
  ): void {
    Object.assign(contact, patch);
    contact.modified = new Date(this.#now());
    contact.version += 1;
    this.#tell(contact, 'updated');
  }

  /** Moves a contact as Outlook does: its immutable id stays. */
  move(contact: StoredContact, { id }: ContactFolder): void {
    this.#tell(contact, 'deleted');
    contact.folderId = id;
    this.#tell(contact, 'created');
  }

  remove(contact: StoredContact): void {
    this.#contacts.delete(contact.immutableId);
    this.#byRestId.delete(contact.restId);
    this.#tell(contact, 'deleted');
  }

  #tell({ folderId, immutableId, restId }: StoredContact, change: ItemChange['change']): void {
    const ids = { immutableId, restId };
    this.onChange?.({ resource: 'contacts', change, containerId: folderId, ids });
  }
}
