import { Injectable } from '@nestjs/common';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { recordUnread } from '../failures/sync-failures.ts';
import { contactChange } from '../../contacts/contact-changes.ts';
import { insertContacts, updateContacts } from '../../contacts/contact-store.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import {
  CONTACT_FIELDS,
  type ContactFields,
  contactFields,
  sameField,
} from '../../providers/port/contact-content.ts';
import type {
  ContactChanges,
  ContactsPort,
  RemoteContact,
} from '../../providers/port/connector.ts';
import { storableWarnings } from '../../providers/port/warnings.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import {
  absentContacts,
  contactsBeingCreated,
  lockContacts,
  type MirrorContact,
  removeContacts,
  type SeenContact,
  storeSeenContacts,
} from '../../contacts/contact-mirror.ts';
import {
  beginContactPass,
  type BegunPass,
  type ContactPass,
  contactPosition,
  nextPassAt,
  postponePass,
  storeContactCursor,
} from '../pass-schedule.ts';
import type { ObjectDifferences } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import { requestCollections } from '../../accounts/sync-schedule/mirror-audits.ts';
import { differencesIn } from '../audit/audit-differences.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';

/** Contacts stored in one transaction. A server may list the whole address book for each page. */
const PAGE = 500;

/** Result of a sync pass over an address book. */
export interface ContactPassResult {
  /** True if the account has an address book that must be polled. */
  hasBook: boolean;
  /** True if more contacts can be fetched at once. */
  more: boolean;
  /** True if the mirror was changed. */
  changed?: boolean;
  /** When the next pass follows, if that is to be stored at the end of the sync pass. */
  time?: BegunPass['time'];
}

/** A page of remote contacts and what is needed to store it. */
interface Page {
  account: ConnectedAccount;
  port: ContactsPort;
  changes: Pick<ContactChanges, 'contacts' | 'removed' | 'read' | 'unread'>;
  /**
   * When the page was requested. A contact that changed here later is skipped: the page may show
   * its earlier state.
   */
  requestedAt: Date;
  at: Date;
  /** True if changes send webhooks. */
  notify: boolean;
}

/** Copies the contacts of an account from the provider into the mirror. */
@Injectable()
export class ContactSync {
  constructor(
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Runs one sync pass over the address book. Called in every sync pass of the account; does
   * nothing if the previous contact pass is too recent. The changes of the first complete read are
   * history: they go into the change log, but send no webhooks. A contact with an open provider
   * write is skipped. The cursor then stays, so that the next sync pass reads the contact again.
   * @param goOn called between pages; `false` stops the pass early
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    port: ContactsPort,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
  ): Promise<ContactPassResult> {
    if (!port.hasAddressBook(account)) return { hasBook: false, more: false };
    const pass = await beginContactPass(this.database, claim, state, this.clock.now());
    if (!pass) return { hasBook: true, more: false };
    try {
      const { more, changed } = await this.#pages(account, port, claim, pass, goOn);
      if (more) await postponePass(this.database, claim, 'contacts', null);
      return { hasBook: true, more, changed, time: more ? null : pass.time };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await postponePass(this.database, claim, 'contacts', nextPassAt(this.clock.now(), error));
      throw error;
    }
  }

  /**
   * Reads the changes of the address book now, whenever the previous contact pass was.
   * @returns `false` if the mirror does not have the whole address book yet
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async refresh(
    account: ConnectedAccount,
    port: ContactsPort,
    claim: MirrorClaim,
    goOn: () => boolean,
  ): Promise<boolean> {
    const pass = await contactPosition(this.database, claim);
    if (!pass?.since) return false;
    return !(await this.#pages(account, port, claim, pass, goOn)).more;
  }

  /**
   * Stores a page as a sync pass does, but keeps the cursor: for audits.
   * @param onStored called in the same transaction with the numbers of contacts that differed
   * @throws {ClaimLostError}
   */
  repair<T>(
    claim: MirrorClaim,
    page: Omit<Page, 'at' | 'notify'>,
    onStored: (sql: Sql, differences: ObjectDifferences) => Promise<T>,
  ): Promise<T> {
    const at = this.clock.now();
    return this.claims.withClaim(claim, null, async (sql) =>
      onStored(sql, differencesIn((await this.#apply(sql, { ...page, at, notify: true })).log)),
    );
  }

  async #pages(
    account: ConnectedAccount,
    port: ContactsPort,
    claim: MirrorClaim,
    pass: ContactPass,
    goOn: () => boolean,
  ): Promise<Required<Pick<ContactPassResult, 'more' | 'changed'>>> {
    let { cursor } = pass;
    let mayStore = true;
    let changed = false;
    for (;;) {
      const requestedAt = this.clock.now();
      const changes = await port.listContactChanges(account, cursor, PAGE);
      const complete = !changes.more;
      const idle =
        changes.cursor === cursor && changes.contacts.length + changes.removed.length === 0;
      if (idle && pass.since && !changes.present) return { more: !complete, changed };
      const at = this.clock.now();
      await this.claims.withClaim(claim, null, async (sql) => {
        const one: Page = { account, port, changes, requestedAt, at, notify: pass.since !== null };
        const result = await this.#apply(sql, one);
        changed ||= result.log.length > 0;
        // A skipped part keeps the cursor: this page and all later ones are read again.
        mayStore &&= result.whole;
        if (mayStore) await storeContactCursor(sql, claim, changes.cursor, complete ? at : null);
        await this.#compareIds(sql, one, changes);
      });
      // Contacts with an open provider write, and the pages after them, are read again by the next
      // sync pass.
      if (complete || (!mayStore && !goOn())) return { more: false, changed };
      if (!goOn()) return { more: true, changed };
      ({ cursor } = changes);
    }
  }

  /** One list removes nothing: an audit lists contacts again that this one lacks (ADR 0124). */
  async #compareIds(
    sql: Sql,
    { account: { accountId }, requestedAt: beganAt, at }: Page,
    { present }: ContactChanges,
  ): Promise<void> {
    if (present === null) return;
    const [absent] = await absentContacts(sql, accountId, { present, beganAt, limit: 1 });
    if (absent !== undefined) await requestCollections(sql, accountId, at);
  }

  async #apply(sql: Sql, page: Page): Promise<{ whole: boolean; log: readonly ChangeRecord[] }> {
    const { account, changes, requestedAt, at } = page;
    const { accountId } = account;
    const ids = [...changes.contacts.map(({ providerId }) => providerId), ...changes.removed];
    const rows = await lockContacts(sql, accountId, ids);
    const byId = new Map(rows.map((row) => [row.providerId, row]));
    const remotes = new Map(changes.contacts.map((remote) => [remote.providerId, remote]));
    const coming = await contactsBeingCreated(
      sql,
      accountId,
      changes.contacts.flatMap(({ uid }) => (uid !== null && isId(uid) ? [uid] : [])),
    );
    const fresh = [...remotes.values()].filter(({ providerId }) => !byId.has(providerId));
    const waiting = fresh.filter(({ uid }) => uid !== null && coming.has(uid));
    const busy = (row: MirrorContact) => row.writing || row.touchedAt > requestedAt;
    const known = rows.filter(({ providerId }) => remotes.has(providerId));
    const gone = rows.filter(({ providerId }) => !remotes.has(providerId));
    const { read = [], unread = [], removed: goneThere } = changes;
    await recordUnread(sql, accountId, { read: [...read, ...goneThere], unread }, at);
    const removed = gone.filter((row) => !busy(row)).map(({ id }) => id);
    await removeContacts(sql, accountId, removed);
    const log: ChangeRecord[] = [
      ...(await this.#add(
        sql,
        page,
        fresh.filter((one) => !waiting.includes(one)),
      )),
      ...(await this.#change(
        sql,
        page,
        known.filter((row) => !busy(row)),
        remotes,
      )),
      ...removed.map((id) => this.#record(page, id, 'deleted', at)),
    ];
    const whole = waiting.length === 0 && ![...known, ...gone].some(busy);
    await recordChanges(sql, log);
    return { whole, log };
  }

  async #add(sql: Sql, page: Page, remotes: readonly RemoteContact[]): Promise<ChangeRecord[]> {
    const { account, at } = page;
    const contacts = remotes.map(({ providerId, content, picture, warnings }) => {
      const fields = contactFields(content);
      return { id: newId(), providerId, fields, picture, warnings: storableWarnings(warnings) };
    });
    const added = await insertContacts(sql, account.accountId, contacts, at);
    return [...added].map((id) => this.#record(page, id, 'created', at));
  }

  async #change(
    sql: Sql,
    page: Page,
    rows: readonly MirrorContact[],
    remotes: ReadonlyMap<string, RemoteContact>,
  ): Promise<ChangeRecord[]> {
    const { account, port, at } = page;
    const changed: { id: string; fields: ContactFields; picture: string | null }[] = [];
    const seen: SeenContact[] = [];
    for (const row of rows) {
      const remote = remotes.get(row.providerId);
      if (!remote) continue;
      const content = contactFields(remote.content);
      seen.push({ id: row.id, content, warnings: storableWarnings(remote.warnings) });
      const ours = contactFields(port.asStored?.(account, row.fields) ?? row.fields);
      const different = CONTACT_FIELDS.filter((name) => !sameField(content[name], ours[name]));
      if (different.length === 0 && remote.picture === row.picture) continue;
      const fields = Object.fromEntries(different.map((name) => [name, content[name]]));
      changed.push({ id: row.id, fields: { ...row.fields, ...fields }, picture: remote.picture });
    }
    await updateContacts(sql, account.accountId, changed, at);
    await storeSeenContacts(sql, account.accountId, seen, at);
    return changed.map(({ id }) => this.#record(page, id, 'updated', at));
  }

  #record(
    { account, notify }: Page,
    id: string,
    verb: 'created' | 'updated' | 'deleted',
    at: Date,
  ): ChangeRecord {
    const { applicationId, accountId } = account;
    const dedupe = notify ? `contact:${id}:${verb}:${newId()}` : null;
    return contactChange({ applicationId, accountId, at }, id, verb, dedupe);
  }
}
