import { Inject, Injectable } from '@nestjs/common';
import { ApplicationAccountsService } from '../../accounts/account-management/application-accounts.service.ts';
import type { AuditResult } from '../../accounts/sync-schedule/mirror-audits.ts';
import {
  type ComparedDay,
  compareDays,
  type NewMessage,
  newMessages,
} from '../../mail/messages/mirror/audited-days.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { handedOver, type HandedOver } from '../../platform/webhooks/delivery/handed-over.ts';
import {
  announcedMessages,
  createdWantedSince,
  withoutCreated,
} from '../../platform/webhooks/events/created-messages.ts';
import { dayOf, firstShownDay } from '../audit/audit-days.ts';
import { type Reason, reasonsOf, reasonsOfMailbox } from './completeness-policy.ts';

/** Most ids of each kind of difference and day. */
const MOST_IDS = 100;

/** The messages of one day that subscribers must have been told about. */
export interface NewsOfDay {
  /** How many; `null` if no webhook wants `message.created`. */
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
  messages: ComparedDay & NewsOfDay;
  /** What became of the stored events, by webhook and kind. */
  webhooks: HandedOver[];
}

/** Proof of an account. */
export interface Completeness {
  accountId: string;
  /** Whether all days are complete and nothing is wrong with the whole mailbox. */
  complete: boolean;
  /** What is wrong with the whole mailbox, and all reasons of the days. */
  reasons: Reason[];
  /** Result of the audits of the whole mailbox; `null` before the first one is complete. */
  audit: AuditResult | null;
  /** Oldest first. */
  days: CompleteDay[];
}

/**
 * Compares for each day what the provider had when it was audited, what the mirror has, the stored
 * events, and what became of them (ADR 0152).
 */
@Injectable()
export class CompletenessService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly accounts: ApplicationAccountsService,
    private readonly clock: Clock,
  ) {}

  /**
   * @param count how many days, today included; at most `MOST_DAYS`
   * @throws {NotFoundError} if the application has no such account
   */
  async of(applicationId: string, accountId: string, count: number): Promise<Completeness> {
    const { mirror: audit } = await this.accounts.get(applicationId, accountId);
    const now = this.clock.now();
    const range = { from: firstShownDay(now, count), to: dayOf(now) };
    const owner = { applicationId, accountId };
    // One snapshot: a message, its event and its deliveries are stored together.
    const read = await this.database.transaction(async (sql) => {
      await sql.query('set transaction isolation level repeatable read, read only');
      return this.#read(sql, owner, range);
    });
    const { dayList, news, deliveries } = read;
    const days = dayList.map((compared) => dayOfProof(compared, news, deliveries, now));
    const reasons = new Set([...reasonsOfMailbox(audit), ...days.flatMap((day) => day.reasons)]);
    return {
      accountId,
      complete: reasons.size === 0,
      reasons: [...reasons],
      audit,
      days,
    };
  }

  async #read(
    sql: Sql,
    owner: { applicationId: string; accountId: string },
    range: { from: string; to: string },
  ) {
    const { applicationId, accountId } = owner;
    const announced = await announcedMessages(sql, accountId, range);
    const dayList = await compareDays(sql, accountId, { ...range, announced, limit: MOST_IDS });
    const since = await createdWantedSince(sql, applicationId, accountId);
    const { recentDays } = this.config.sync.audit;
    const messages = since && (await newMessages(sql, accountId, { ...range, since, recentDays }));
    const without = await withoutCreated(
      sql,
      (messages ?? []).map(({ id }) => id),
    );
    const deliveries = await handedOver(sql, owner, range, MOST_IDS);
    return { dayList, news: { messages, without }, deliveries };
  }
}

function dayOfProof(
  compared: ComparedDay,
  { messages, without }: { messages: readonly NewMessage[] | null; without: ReadonlySet<string> },
  deliveries: readonly HandedOver[],
  now: Date,
): CompleteDay {
  const { day } = compared;
  const news = messages?.filter((message) => message.day === day) ?? null;
  const lost = (news ?? []).filter(({ id }) => without.has(id)).map(({ id }) => id);
  const found = {
    ...compared,
    expected: news && news.length,
    withoutEvent: lost.length,
    withoutEventIds: lost.slice(0, MOST_IDS),
  };
  const webhooks = deliveries.filter((delivery) => delivery.day === day);
  const reasons = reasonsOf({ messages: found, webhooks }, now);
  return { day, complete: reasons.length === 0, reasons, messages: found, webhooks };
}
