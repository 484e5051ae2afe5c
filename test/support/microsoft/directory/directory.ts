import { randomUUID, type X509Certificate } from 'node:crypto';
import { CalendarStore } from '../calendar/calendar-store.ts';
import { ContactStore } from '../contacts/contact-store.ts';
import { type ItemChange, Mailbox } from '../mail/mailbox.ts';

/** The tenant of all personal Microsoft accounts. */
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Delegated permissions are named by their scope, application permissions by their role. */
export type Permission = string;

export interface StubUser {
  /** Object id (`oid`). */
  id: string;
  tenantId: string;
  email: string;
  displayName: string;
  kind: 'user' | 'shared' | 'room';
  /** Other addresses of the mailbox, lower case. */
  aliases: Set<string>;
  /** Addresses of users that may read and write this mailbox, lower case. */
  members: Set<string>;
  /** Addresses that this user may send as, besides its own, lower case. */
  sendAs: Set<string>;
  /** How many requests have read the mailbox. */
  requests: number;
  mailbox: Mailbox;
  calendars: CalendarStore;
  contacts: ContactStore;
}

export interface StubApp {
  clientId: string;
  secrets: Set<string>;
  certificates: X509Certificate[];
  /** Registered redirect addresses; `null` accepts any. */
  redirectUris: Set<string> | null;
  /** Public clients have no secret. Default false. */
  isPublic: boolean;
  /** Application permissions that an administrator is asked for. */
  appRoles: Set<Permission>;
  /** Tenants whose administrator has agreed. */
  consentedTenants: Set<string>;
}

export interface StubTenant {
  id: string;
  domains: Set<string>;
}

/** Tenants, users and applications of the stub. */
export class Directory {
  readonly tenants = new Map<string, StubTenant>();
  readonly apps = new Map<string, StubApp>();
  /** Called for every change in a mailbox. */
  onChange: ((user: StubUser, change: ItemChange) => void) | null = null;
  readonly #users = new Map<string, StubUser>();
  readonly #addresses = new Map<string, StubUser>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.tenants.set(PERSONAL_TENANT, { id: PERSONAL_TENANT, domains: new Set(['outlook.com']) });
  }

  get users(): StubUser[] {
    return [...this.#users.values()];
  }

  /** Adds a user with an empty mailbox; its domain belongs to its tenant from then on. */
  addUser(email: string, options: Partial<Pick<StubUser, 'displayName' | 'kind'>> = {}): StubUser {
    const domain = email.split('@')[1]?.toLowerCase() ?? '';
    const tenant = this.tenantOfDomain(domain) ?? this.#addTenant(domain);
    const user: StubUser = {
      id: randomUUID(),
      tenantId: tenant.id,
      email,
      displayName: options.displayName ?? email.split('@')[0] ?? email,
      kind: options.kind ?? 'user',
      aliases: new Set(),
      members: new Set(),
      sendAs: new Set(),
      requests: 0,
      mailbox: new Mailbox(email, this.#now),
      calendars: new CalendarStore(this.#now),
      contacts: new ContactStore(this.#now),
    };
    const tell = (change: ItemChange) => this.onChange?.(user, change);
    user.mailbox.onChange = tell;
    user.calendars.onChange = tell;
    user.contacts.onChange = tell;
    this.#users.set(user.id, user);
    this.#addresses.set(email.toLowerCase(), user);
    return user;
  }

  /** Lets mail to `alias` arrive in the mailbox of `user`. */
  addAlias(user: StubUser, alias: string): void {
    user.aliases.add(alias.toLowerCase());
    this.#addresses.set(alias.toLowerCase(), user);
  }

  /** The user with this id or address. */
  user(idOrEmail: string): StubUser | undefined {
    return this.#users.get(idOrEmail) ?? this.#addresses.get(idOrEmail.toLowerCase());
  }

  addApp(app: Partial<StubApp> & { clientId: string }): StubApp {
    const full: StubApp = {
      secrets: new Set(),
      certificates: [],
      redirectUris: null,
      isPublic: false,
      appRoles: new Set(),
      consentedTenants: new Set(),
      ...app,
    };
    this.apps.set(full.clientId, full);
    return full;
  }

  tenantOfDomain(domain: string): StubTenant | undefined {
    return [...this.tenants.values()].find((tenant) => tenant.domains.has(domain.toLowerCase()));
  }

  /** The tenant that a path names by id or domain; `undefined` if there is none. */
  tenant(name: string): StubTenant | undefined {
    return this.tenants.get(name) ?? this.tenantOfDomain(name);
  }

  #addTenant(domain: string): StubTenant {
    const tenant = { id: randomUUID(), domains: new Set([domain]) };
    this.tenants.set(tenant.id, tenant);
    return tenant;
  }
}
