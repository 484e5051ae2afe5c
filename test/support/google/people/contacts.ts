/** A contact as it is stored. The fields are those of a person. */
export interface Contact {
  /** `people/c…`, or `otherContacts/c…` */
  resourceName: string;
  fields: Record<string, unknown>;
  isDeleted: boolean;
  version: number;
  /** Milliseconds. */
  createdAt: number;
  photo: Buffer | null;
}

/** A group of contacts. */
export interface ContactGroup {
  /** `contactGroups/…` */
  resourceName: string;
  name: string;
  isSystem: boolean;
  isDeleted: boolean;
  version: number;
}

const SYSTEM_GROUPS = ['myContacts', 'starred', 'friends', 'family', 'coworkers', 'blocked'];

/** Contacts of a person, with versions by which sync tokens work. */
export class Contacts {
  readonly people = new Map<string, Contact>();
  /** People that Google remembers because of mail. */
  readonly others = new Map<string, Contact>();
  readonly groups = new Map<string, ContactGroup>();
  /** Sync tokens older than this version are expired. */
  oldestToken = 0;
  #version = 100;
  #ids = 0;

  /** When each version was made, in milliseconds. */
  readonly #times = new Map<number, number>();

  /** @param now milliseconds of the stub's clock */
  constructor(private readonly now: () => number = Date.now) {
    for (const name of SYSTEM_GROUPS) {
      const resourceName = `contactGroups/${name}`;
      const group = { resourceName, name, isSystem: true, isDeleted: false, version: 1 };
      this.groups.set(resourceName, group);
    }
  }

  get version(): number {
    return this.#version;
  }

  /** The last version that was made until a time. */
  versionAt(ms: number): number {
    let version = this.#version;
    while ((this.#times.get(version) ?? 0) > ms) version -= 1;
    return version;
  }

  /** Makes all sync tokens that were given until now invalid. */
  expireSyncTokens(): void {
    this.oldestToken = this.#next();
  }

  /** Adds a contact. Every contact is in the group of one's own contacts. */
  add(fields: Record<string, unknown>): Contact {
    this.#ids += 1;
    const contact: Contact = {
      resourceName: `people/c${this.#ids}`,
      fields: { memberships: [membership('contactGroups/myContacts')], ...fields },
      isDeleted: false,
      version: this.#next(),
      createdAt: this.now(),
      photo: null,
    };
    this.people.set(contact.resourceName, contact);
    return contact;
  }

  /** Adds a person to the other contacts. */
  addOther(fields: Record<string, unknown>): Contact {
    this.#ids += 1;
    const resourceName = `otherContacts/c${this.#ids}`;
    const version = this.#next();
    const createdAt = this.now();
    const contact = { resourceName, fields, isDeleted: false, version, createdAt, photo: null };
    this.others.set(resourceName, contact);
    return contact;
  }

  addGroup(name: string): ContactGroup {
    this.#ids += 1;
    const resourceName = `contactGroups/g${this.#ids}`;
    const version = this.#next();
    const group = { resourceName, name, isSystem: false, isDeleted: false, version };
    this.groups.set(resourceName, group);
    return group;
  }

  /** Gives a contact or a group a new version. */
  touch(one: { version: number }): void {
    one.version = this.#next();
  }

  /** Contacts in a group. */
  members({ resourceName }: ContactGroup): Contact[] {
    return [...this.people.values()].filter(
      (contact) => !contact.isDeleted && groupsOf(contact).includes(resourceName),
    );
  }

  /** Puts a contact into groups, or takes it out. */
  setGroups(contact: Contact, groups: readonly string[]): void {
    contact.fields['memberships'] = [...new Set(groups)].map(membership);
    this.touch(contact);
  }

  #next(): number {
    this.#version += 1;
    this.#times.set(this.#version, this.now());
    return this.#version;
  }
}

interface Membership {
  contactGroupMembership?: { contactGroupResourceName?: string };
}

/** Resource names of the groups that a contact is in. */
export function groupsOf({ fields }: Contact): string[] {
  return ((fields['memberships'] ?? []) as Membership[]).flatMap(
    ({ contactGroupMembership: one }) => one?.contactGroupResourceName ?? [],
  );
}

function membership(resourceName: string): object {
  const contactGroupId = resourceName.replace('contactGroups/', '');
  const contactGroupMembership = { contactGroupId, contactGroupResourceName: resourceName };
  return { contactGroupMembership };
}
