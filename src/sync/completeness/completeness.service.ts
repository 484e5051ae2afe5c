import { Inject, Injectable } from '@nestjs/common';
import { ApplicationAccountsService } from '../../accounts/account-management/application-accounts.service.ts';
import type { AuditResult } from '../../accounts/sync-schedule/mirror-audits.ts';
import { type ComparedDay, compareDays } from '../../mail/messages/mirror/audited-days.ts';
import { type NewMessages, newMessages } from '../../mail/messages/mirror/new-messages.ts';
import { type HandedOver, handedOver } from '../../platform/changes/handed-over.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import {
  createdWantedSince,
  withoutCreated,
} from '../../platform/webhooks/events/created-messages.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { canListEvents } from '../audit/audited-collections.ts';
import { dayOf, firstShownDay } from '../audit/audit-days.ts';
import { type ComparedCollection, compareCollections } from './compared-collections.ts';
import {
  type Reason,
  reasonsOfAccount,
  reasonsOfCollection,
  reasonsOfDay,
} from './completeness-policy.ts';
import { type LoggedChanges, loggedChanges } from './logged-changes.ts';

/** Most ids of each kind of difference and day. */
const MOST_IDS = 100;

/** The messages of one day that subscribers must have been told about. */
export interface NewsOfDay {
  /** How many; `null` if no webhook wants each `message.created`. */
  expected: number | null;
  /** Of these, messages without a stored event. */
  withoutEvent: number;
  withoutEventIds: string[];
}

/** Proof of one day. */
export interface CompleteDay {
  day: string;
  complete: boolean;
  /** Why it is not complete; empty if it is. */
  reasons: Reason[];
  /** Messages that were received on this day. */
  messages: ComparedDay & NewsOfDay;
  /** What changed on this day, by kind of object. */
  changes: LoggedChanges[];
  /** The results of the deliveries of these changes, by webhook and kind of object. */
  webhooks: HandedOver[];
}

/** Proof of a calendar or address book. */
export interface CompleteCollection extends ComparedCollection {
  complete: boolean;
  /** Why it is not complete; empty if it is. */
  reasons: Reason[];
}

/** Proof of an account. */
export interface Completeness {
  accountId: string;
  /** Whether all days and collections are complete and nothing is wrong with the whole mailbox. */
  complete: boolean;
  /** What is wrong with the whole mailbox, and all reasons of the days and collections. */
  reasons: Reason[];
  /** Result of the audits of the whole mailbox; `null` before the first one is complete. */
  audit: AuditResult | null;
  /** Oldest first. */
  days: CompleteDay[];
  /** Calendars, then the address book. */
  collections: CompleteCollection[];
}

/** What is read of an account, in one snapshot. */
interface Facts {
  dayList: ComparedDay[];
  /** `null` if no webhook wants each `message.created`. */
  news: NewMessages[] | null;
  /** Ids of messages of `news` that have no event. */
  without: ReadonlySet<string>;
  changes: LoggedChanges[];
  deliveries: HandedOver[];
  collections: ComparedCollection[];
}

/**
 * Compares for each day what the provider had when it was audited, what the mirror has, the change
 * log, the stored events, and their deliveries (ADR 0152, ADR 0160).
 */
@Injectable()
export class CompletenessService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ApplicationAccountsService,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * @param count how many days, today included; at most `MOST_DAYS`
   * @throws {NotFoundError} if the application has no such account
   */
  async of(applicationId: string, accountId: string, count: number): Promise<Completeness> {
    const account = await this.accounts.get(applicationId, accountId);
    const { mirror: audit, syncState } = account;
    const now = this.clock.now();
    const range = { from: firstShownDay(now, count), to: dayOf(now) };
    // One snapshot: a change, its event and its deliveries are stored together.
    const facts = await this.database.transaction(async (sql) => {
      await sql.query('set transaction isolation level repeatable read, read only');
      // A large account is compared without temporary files.
      await sql.query(`set local work_mem = '32MB'`);
      return this.#read(sql, { applicationId, accountId }, range);
    });
    const { fullDays } = this.config.sync.audit;
    const days = facts.dayList.map((compared) => dayOfProof(compared, facts, now));
    // A provider that cannot list its events is not audited for them.
    const listsEvents = canListEvents(this.connectors.find(account.provider)?.calendar);
    const audited = facts.collections.filter(({ object }) => listsEvents || object !== 'event');
    const collections = audited.map((compared) => {
      const reasons = reasonsOfCollection(compared, fullDays, now);
      return { ...compared, complete: reasons.length === 0, reasons };
    });
    const found = [...days, ...collections].flatMap(({ reasons }) => reasons);
    const reasons = [...new Set([...reasonsOfAccount(audit, syncState), ...found])];
    return { accountId, complete: reasons.length === 0, reasons, audit, days, collections };
  }

  async #read(
    sql: Sql,
    owner: { applicationId: string; accountId: string },
    range: { from: string; to: string },
  ): Promise<Facts> {
    const { applicationId, accountId } = owner;
    const since = await createdWantedSince(sql, applicationId, accountId);
    const { recentDays } = this.config.sync.audit;
    const { deliveries, lostMessages } = await handedOver(sql, owner, range.from, MOST_IDS);
    const asked = { ...range, recentDays, lost: lostMessages };
    const news = since && (await newMessages(sql, accountId, { ...asked, since }));
    const unproven = (news ?? []).flatMap((day) => day.unproven);
    return {
      dayList: await compareDays(sql, accountId, { ...range, limit: MOST_IDS }),
      news,
      without: await withoutCreated(sql, unproven),
      changes: await loggedChanges(sql, accountId, range.from, MOST_IDS),
      deliveries,
      collections: await compareCollections(sql, accountId, MOST_IDS),
    };
  }
}

function dayOfProof(compared: ComparedDay, facts: Facts, now: Date): CompleteDay {
  const { day } = compared;
  const { news, without } = facts;
  const ofDay = <T extends { day: string }>(rows: readonly T[]) =>
    rows.filter((row) => row.day === day);
  const [told = { count: 0, unproven: [] }] = ofDay(news ?? []);
  const lost = told.unproven.filter((id) => without.has(id));
  const messages = {
    ...compared,
    expected: news && told.count,
    withoutEvent: lost.length,
    withoutEventIds: lost.slice(0, MOST_IDS),
  };
  const changes = ofDay(facts.changes);
  const webhooks = ofDay(facts.deliveries);
  const reasons = reasonsOfDay({ messages, changes, webhooks }, now);
  return { day, complete: reasons.length === 0, reasons, messages, changes, webhooks };
}
