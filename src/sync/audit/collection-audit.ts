import { Inject, Injectable, Logger } from '@nestjs/common';
import type {
  CollectionCounts,
  CollectionRound,
  ObjectDifferences,
} from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import {
  beginCollections,
  collectionsState,
  finishCollections,
  postponeCollections,
  requestCollections,
  storeCollections,
} from '../../accounts/sync-schedule/mirror-audits.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { BudgetExhaustedError } from '../../platform/budgets/budget-exhausted-error.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import {
  type AuditedCollection,
  auditedBook,
  auditedCalendar,
  canListEvents,
  type CollectionRun,
  type ListedPage,
} from './audited-collections.ts';
import {
  type CollectionKey,
  CONTACTS,
  endedCollections,
  forgetListings,
  noteListing,
  notedListing,
  recordListing,
} from './listed-collections.ts';
import { LOST_OF_BOOK, LOST_OF_CALENDARS, reportLost } from './lost-objects.ts';
import { ContactSync } from '../collections/contact-sync.ts';
import { SECOND_PROOF_AFTER_MS } from './doubts.ts';
import { EventSync } from '../collections/event-sync.ts';
import { MirrorRepository } from '../mirror.repository.ts';
import { nextPoll } from '../sync-policy.ts';

/** Most objects of a collection that one audit removes. */
const MOST_ABSENT = 1_000;
/** Objects that are removed in one transaction. */
const BATCH = 100;
/** A listing with more pages does not end. */
const MOST_PAGES = 10_000;
/** Shortest wait after the provider failed. Seconds. */
const AFTER_FAILURE_SECONDS = 300;
const DAY_SECONDS = 86_400;

/**
 * Compares the calendars and the address book at the provider with the mirror, and repairs what
 * differs (ADR 0080). A listing that is read from its beginning shows objects that are missing or
 * different. An object that it does not contain is removed if a second listing, an hour later, does
 * not contain it either (ADR 0124).
 */
@Injectable()
export class CollectionAudit {
  readonly #log = new Logger(CollectionAudit.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly events: EventSync,
    private readonly contacts: ContactSync,
    private readonly clock: Clock,
  ) {}

  /**
   * Continues the audit of an account, or begins one that is due. Errors of the provider postpone
   * it.
   * @returns true if the audit can continue at once
   * @throws {ClaimLostError}
   */
  async run(run: CollectionRun): Promise<boolean> {
    const { accountId } = run.account;
    const now = this.clock.now();
    const { dueAt, round } = await collectionsState(this.database, accountId, run.first);
    if (dueAt > now) return false;
    try {
      return await this.#continue(run, round ?? (await this.#begin(run)));
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await this.#postpone(run, error);
      return false;
    }
  }

  async #begin({ account, calendar, contacts, claim }: CollectionRun): Promise<CollectionRound> {
    const { accountId } = account;
    const calendars = canListEvents(calendar) ? await this.events.calendars(accountId) : [];
    const hasBook = contacts?.hasAddressBook(account) ?? false;
    const at = this.clock.now();
    const round = {
      collections: [...calendars.map(({ id }) => id), ...(hasBook ? [CONTACTS] : [])],
      ...BEGINNING,
      incomplete: false,
      events: NOTHING,
      contacts: NOTHING,
    };
    await this.claims.withClaim(claim, null, async (sql) => {
      const ended = await endedCollections(sql, accountId, round.collections);
      await reportLost(sql, { ...account, at }, { kinds: [], collections: ended });
      await forgetListings(sql, accountId, ended);
      await beginCollections(sql, accountId, round);
    });
    return round;
  }

  /** @returns true if the audit can continue at once */
  async #continue(run: CollectionRun, begun: CollectionRound): Promise<boolean> {
    let round = begun;
    while (round.collections.length > 0) {
      if (!run.goOn()) return true;
      const { confirming } = round;
      round = await this.#step(run, round);
      // A second listing that follows soon could have the fault of the first one.
      if (round.confirming && !confirming) return false;
    }
    await this.#finish(run, round);
    return false;
  }

  /** Reads one page. The error of one collection does not stop the others. */
  async #step(run: CollectionRun, round: CollectionRound): Promise<CollectionRound> {
    try {
      const collection = await this.#find(run, round.collections[0]);
      if (!collection) return await this.#store(run, next(round));
      // Changes that the provider has reported are no differences.
      const isWhole = round.cursor !== null || (await collection.refresh());
      if (!isWhole) return await this.#store(run, skip(round));
      return round.confirming
        ? await this.#confirm(run, round, collection)
        : await this.#compare(run, round, collection);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'auth-invalid' || error.code === 'rate-limited') throw error;
      const isGone = error.code === 'not-found' || error.code === 'unsupported';
      if (!isGone)
        this.#log.warn(
          `account ${run.account.accountId}: the audit of its calendars and contacts skipped one of them: ${error.message}`,
        );
      return this.#store(run, isGone ? next(round) : skip(round));
    }
  }

  /** @returns `undefined` if the collection does not exist any more */
  async #find(run: CollectionRun, id: string | undefined): Promise<AuditedCollection | undefined> {
    const { account, calendar, contacts } = run;
    if (id === CONTACTS) return contacts && auditedBook(this.contacts, contacts, run);
    const calendars = await this.events.calendars(account.accountId);
    const row = calendars.find((one) => one.id === id);
    if (!row || !canListEvents(calendar)) return undefined;
    return auditedCalendar(this.events, calendar, row, run);
  }

  /** Stores a page of the first listing, and remembers what the listing does not contain. */
  async #compare(
    { account }: CollectionRun,
    round: CollectionRound,
    collection: AuditedCollection,
  ): Promise<CollectionRound> {
    const { accountId } = account;
    const { page, requestedAt, beganAt } = await this.#page(round, collection);
    return page.repair(requestedAt, async (sql, differences) => {
      const found = page.present ? await page.absent(sql, beganAt, MOST_ABSENT + 1) : round.absent;
      const absent = found.slice(0, MOST_ABSENT);
      const counted = {
        ...count(round, collection, page.size, differences),
        absent,
        incomplete: round.incomplete || found.length > absent.length,
      };
      let stored: CollectionRound;
      if (page.more) stored = { ...counted, ...position(round, page, beganAt) };
      else if (absent.length > 0) stored = { ...counted, ...BEGINNING, absent, confirming: true };
      else stored = next(counted);
      await storeCollections(sql, accountId, stored);
      const key = { accountId, collection: round.collections[0] ?? '' };
      // Nothing else names the objects of the listing before this one.
      if (!page.more)
        await reportLost(
          sql,
          { ...account, at: requestedAt },
          { kinds: [], collections: [key.collection] },
        );
      await this.#keepListing(sql, key, { page, beganAt, collection });
      // The rest follows with an audit after this one.
      if (found.length > absent.length) await requestCollections(sql, accountId, requestedAt);
      if (stored.confirming) await postponeCollections(sql, accountId, this.#secondProofAt());
      return stored;
    });
  }

  /** Keeps what the listing has, as soon as its pages are stored. */
  async #keepListing(
    sql: Sql,
    key: CollectionKey,
    {
      page,
      beganAt,
      collection,
    }: { page: ListedPage; beganAt: Date; collection: AuditedCollection },
  ): Promise<void> {
    if (page.more) {
      if (page.present) await noteListing(sql, key, page.present);
      return;
    }
    const present = page.present ?? (await notedListing(sql, key));
    if (present) await recordListing(sql, key, await collection.stored(sql, present), beganAt);
  }

  #secondProofAt(): Date {
    return new Date(this.clock.now().getTime() + SECOND_PROOF_AFTER_MS);
  }

  /** Reads the second listing up to its ids, and removes what is still absent. */
  async #confirm(
    run: CollectionRun,
    round: CollectionRound,
    collection: AuditedCollection,
  ): Promise<CollectionRound> {
    const { page, beganAt } = await this.#page(round, collection);
    if (!page.present) {
      const stored = page.more ? { ...round, ...position(round, page, beganAt) } : next(round);
      return this.#store(run, stored);
    }
    const { accountId } = run.account;
    const absent = new Set(await page.absent(this.database, beganAt, 2 * MOST_ABSENT));
    const proven = round.absent.filter((id) => absent.has(id));
    let stored = round;
    for (let from = 0; from < proven.length; from += BATCH) {
      const some = proven.slice(from, from + BATCH);
      stored = await collection.remove(some, beganAt, async (sql, differences) => {
        const counted = count(stored, collection, 0, differences);
        await storeCollections(sql, accountId, counted);
        return counted;
      });
    }
    return this.#store(run, next(stored));
  }

  async #page(
    round: CollectionRound,
    collection: AuditedCollection,
  ): Promise<{ page: ListedPage; requestedAt: Date; beganAt: Date }> {
    const requestedAt = this.clock.now();
    const page = await collection.list(round.cursor);
    if (page.more && (page.cursor === round.cursor || round.pages >= MOST_PAGES))
      throw new ProviderError('temporary', 'The listing does not end');
    const beganAt = round.listedFrom === null ? requestedAt : new Date(round.listedFrom);
    return { page, requestedAt, beganAt };
  }

  async #store({ account, claim }: CollectionRun, round: CollectionRound) {
    await this.claims.withClaim(claim, null, (sql) =>
      storeCollections(sql, account.accountId, round),
    );
    return round;
  }

  async #finish(run: CollectionRun, round: CollectionRound): Promise<void> {
    const { account, claim, hasMailbox } = run;
    const { accountId } = account;
    const { events, contacts } = round;
    const at = this.clock.now();
    const days = round.incomplete ? 1 : this.config.sync.audit.fullDays;
    const checkedAt = hasMailbox || round.incomplete ? null : at;
    const dueAt = nextPoll(at, days * DAY_SECONDS, Math.random());
    await this.claims.withClaim(claim, null, async (sql) => {
      await storeCollections(sql, accountId, round);
      await finishCollections(sql, accountId, { at, dueAt, checkedAt, events, contacts });
      // What was skipped, or what the provider cannot list, is not stored again.
      const kinds = [
        ...(canListEvents(run.calendar) ? LOST_OF_CALENDARS : []),
        ...(run.contacts?.hasAddressBook(account) ? LOST_OF_BOOK : []),
      ];
      if (!round.incomplete) await reportLost(sql, { ...account, at }, { kinds, collections: [] });
    });
    if (events.repaired + contacts.repaired > 0)
      this.#log.warn(
        `account ${accountId}: the audit compared ${events.checked} events and ${contacts.checked} contacts with the provider, and repaired ${events.repaired} events and ${contacts.repaired} contacts`,
      );
  }

  async #postpone({ account, claim }: CollectionRun, error: ProviderError): Promise<void> {
    const asked = error.retryAfterSeconds ?? 0;
    const isWaiting = error instanceof BudgetExhaustedError;
    const seconds = isWaiting ? asked : Math.max(AFTER_FAILURE_SECONDS, asked);
    const until = new Date(this.clock.now().getTime() + seconds * 1000);
    await this.claims.withClaim(claim, null, (sql) =>
      postponeCollections(sql, account.accountId, until),
    );
  }
}

/** The beginning of a listing. */
const BEGINNING = { cursor: null, listedFrom: null, pages: 0, absent: [], confirming: false };

/** The round without its first collection. */
const next = (round: CollectionRound): CollectionRound => ({
  ...round,
  ...BEGINNING,
  collections: round.collections.slice(1),
});

const position = ({ pages }: CollectionRound, { cursor }: ListedPage, beganAt: Date) => ({
  cursor,
  listedFrom: beganAt.toISOString(),
  pages: pages + 1,
});

const NOTHING: CollectionCounts = {
  checked: 0,
  repaired: 0,
  missing: 0,
  surplus: 0,
  changed: 0,
  skipped: 0,
};

/** The round without its first collection, which could not be compared. */
function skip(round: CollectionRound): CollectionRound {
  const kind = round.collections[0] === CONTACTS ? 'contacts' : 'events';
  const counts = { ...round[kind], skipped: round[kind].skipped + 1 };
  return { ...next(round), incomplete: true, [kind]: counts };
}

function count(
  round: CollectionRound,
  { kind }: AuditedCollection,
  checked: number,
  { missing, surplus, changed }: ObjectDifferences,
): CollectionRound {
  const before = round[kind];
  const counts: CollectionCounts = {
    ...before,
    checked: before.checked + checked,
    repaired: before.repaired + missing + surplus + changed,
    missing: before.missing + missing,
    surplus: before.surplus + surplus,
    changed: before.changed + changed,
  };
  return { ...round, [kind]: counts };
}
