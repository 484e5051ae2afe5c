import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { type ChangeVerb, objectChange } from '../../platform/changes/object-change.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { CalendarPort, RemoteCalendar } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { CalendarListeners } from '../../calendar/calendars/calendar-listeners.ts';
import {
  type ComparedCalendars,
  compareCalendars,
  forgetAbsences,
  lockCalendar,
  type MirrorCalendar,
  type MirroredCalendar,
  noteAbsence,
  removeCalendar,
  writeCalendars,
} from '../../calendar/calendars/calendar-mirror.ts';
import { beginCalendarPass, type BegunPass, nextPassAt, postponePass } from '../pass-schedule.ts';
import { isBelieved } from '../audit/doubts.ts';
import { EventSync } from './event-sync.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';

/** Result of a sync pass over calendars. */
export interface CalendarPassResult {
  /** Provider ids of the calendars that must be polled. */
  calendars: string[];
  /** True if the mirror was changed. */
  changed: boolean;
  /** When the next pass follows, if that is to be stored at the end of the sync pass. */
  time: BegunPass['time'];
}

type CalendarState = Pick<MirrorState, 'wasCurrent' | 'calendarsAt' | 'hasCalendars'>;

/** Copies an account's calendars and their events from the provider into the mirror. */
@Injectable()
export class CalendarSync {
  constructor(
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly listeners: CalendarListeners,
    private readonly events: EventSync,
    private readonly clock: Clock,
  ) {}

  /**
   * Runs one sync pass over the calendars of an account. Called in every sync pass of the account;
   * does nothing if the previous calendar pass is too recent. The changes of the first pass are
   * history: they go into the change log, but send no webhooks. A provider whose events are created
   * only through our API is read once.
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    port: CalendarPort,
    claim: MirrorClaim,
    { wasCurrent, calendarsAt, hasCalendars }: CalendarState,
  ): Promise<CalendarPassResult> {
    const nothing = { calendars: [], changed: false, time: null };
    if (wasCurrent && !port.listEventChanges) return nothing;
    const pass = await beginCalendarPass(this.database, claim, calendarsAt, this.clock.now());
    if (!pass && !hasCalendars) return nothing;
    try {
      const listed = pass && (await port.listCalendars(account));
      // Most mail accounts have no calendars.
      if (pass && listed?.length === 0 && !hasCalendars) return { ...nothing, time: pass.time };
      const written = pass && listed && (await this.#calendars(account, port, claim, listed, pass));
      const calendars = await this.events.calendars(account.accountId);
      const read = pass && (await this.#events(account, port, claim, calendars));
      return {
        calendars: port.listEventChanges ? calendars.map(({ providerId }) => providerId) : [],
        changed: [written, read].includes(true),
        time: pass?.time ?? null,
      };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const until = pass?.first ? null : nextPassAt(this.clock.now(), error);
      await postponePass(this.database, claim, 'calendars', until);
      throw error;
    }
  }

  /** @returns true if the mirror was changed */
  async #calendars(
    account: ConnectedAccount,
    port: CalendarPort,
    claim: MirrorClaim,
    listed: readonly RemoteCalendar[],
    { first }: { first: boolean },
  ): Promise<boolean> {
    const { accountId } = account;
    const { differs, missing, doubted } = await compareCalendars(this.database, accountId, listed);
    const written = differs && (await this.#write(account, claim, listed, first));
    if (doubted && listed.length > 0)
      await this.claims.withClaim(claim, null, (sql) => forgetAbsences(sql, accountId));
    const removed = await this.#vanished(account, port, claim, missing, listed.length === 0);
    return written || removed;
  }

  async #write(
    account: ConnectedAccount,
    claim: MirrorClaim,
    listed: readonly RemoteCalendar[],
    first: boolean,
  ): Promise<boolean> {
    const { accountId } = account;
    const at = this.clock.now();
    return this.claims.withClaim(claim, null, async (sql) => {
      const { added, changed } = await writeCalendars(sql, accountId, listed, at);
      for (const { id, before, timezone } of changed) {
        if (before !== timezone)
          await this.listeners.timezoneChanged(sql, {
            ...ownerOf(account),
            calendarId: id,
            timezone,
            at,
          });
      }
      await recordChanges(sql, [
        ...added.map((one) => this.#record(account, one, 'created', !first, at)),
        ...changed.map((one) => this.#record(account, one, 'updated', !first, at)),
      ]);
      return added.length + changed.length > 0;
    });
  }

  /**
   * Removes a calendar only if it is missing from the listing and the provider also answers "not
   * found" for it. A listing may be incomplete. If no calendar at all is listed, both answers may
   * have the same cause: then they have to last (`isBelieved`).
   * @returns true if a calendar was removed
   */
  async #vanished(
    account: ConnectedAccount,
    port: CalendarPort,
    claim: MirrorClaim,
    missing: ComparedCalendars['missing'],
    isNoneListed: boolean,
  ): Promise<boolean> {
    let removed = false;
    for (const { id, providerId } of missing) {
      if (!(await isGone(port, account, providerId))) continue;
      removed =
        (await this.claims.withClaim(claim, null, (sql) =>
          this.#removeIfBelieved(sql, account, id, isNoneListed),
        )) || removed;
    }
    return removed;
  }

  /** @returns true if the calendar was removed */
  async #removeIfBelieved(
    sql: Sql,
    account: ConnectedAccount,
    calendarId: string,
    isNoneListed: boolean,
  ): Promise<boolean> {
    const at = this.clock.now();
    if (isNoneListed && !isBelieved(await noteAbsence(sql, calendarId, at), at)) return false;
    await this.#remove(sql, account, calendarId);
    return true;
  }

  async #remove(sql: Sql, account: ConnectedAccount, calendarId: string): Promise<void> {
    const at = this.clock.now();
    const calendar = await lockCalendar(sql, account.accountId, calendarId);
    if (!calendar) return;
    await this.listeners.deleted(sql, { ...ownerOf(account), calendarId, at });
    await removeCalendar(sql, calendarId);
    await recordChanges(sql, [this.#record(account, calendar, 'deleted', true, at)]);
  }

  /** @returns true if the mirror was changed */
  async #events(
    account: ConnectedAccount,
    port: CalendarPort,
    claim: MirrorClaim,
    calendars: readonly MirrorCalendar[],
  ): Promise<boolean> {
    let failure: ProviderError | null = null;
    let changed = false;
    for (const calendar of calendars) {
      try {
        changed = (await this.events.run(account, port, calendar, claim)) || changed;
      } catch (error) {
        // An error of one calendar does not stop the others, unless it concerns the whole account.
        // A deleted calendar is noticed by the next listing.
        if (!(error instanceof ProviderError)) throw error;
        if (error.code !== 'not-found') failure ??= error;
        if (concernsAccount(error)) break;
      }
    }
    if (failure) throw failure;
    return changed;
  }

  #record(
    account: ConnectedAccount,
    { id, metadata }: MirroredCalendar,
    verb: ChangeVerb,
    notify: boolean,
    at: Date,
  ): ChangeRecord {
    const notice = notify ? { dedupe: `calendar:${id}:${verb}:${newId()}`, metadata } : null;
    return objectChange('calendar', { ...account, at }, id, verb, notice);
  }
}

const ownerOf = ({ accountId, applicationId }: ConnectedAccount) => ({ accountId, applicationId });

/** Whether requests for other calendars of the account would fail, too. */
const concernsAccount = ({ code }: ProviderError): boolean =>
  code === 'auth-invalid' || code === 'rate-limited';

async function isGone(
  port: CalendarPort,
  account: ConnectedAccount,
  providerId: string,
): Promise<boolean> {
  try {
    await port.listEventChanges?.(account, providerId, null, 1);
    return false;
  } catch (error) {
    if (!(error instanceof ProviderError) || concernsAccount(error)) throw error;
    // Any other error stops no other calendar: its events are read next, which reports the error.
    return error.code === 'not-found';
  }
}
