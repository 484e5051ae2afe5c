import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { CalendarsService } from '../../calendars/calendars.service.ts';
import { InvalidInputError, NotFoundError } from '../../../platform/base/errors/domain-error.ts';
import { UnwritableEventError } from '../../../formats/ical/ical-fields.ts';
import { isId, newId } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database } from '../../../platform/database/sql.ts';
import { EventReader } from '../event-reader.ts';
import { applyInput, NEW_EVENT, type NewEvent } from '../writes/apply-input.ts';
import { withAddress } from '../event-values.ts';
import { boundsOf } from '../when/when.ts';
import { findIcsInstances, findIcsRows, icsEventsOf, type IcsRow } from './ics-rows.ts';
import { type IcsEvent, icsOf } from './ics-writer.ts';

/** Options of a calendar file. */
export interface EventFileOptions {
  /** UID; default: the UID of the event. */
  uid?: string | undefined;
  /** PRODID; default: the one of this server. */
  prodid?: string | undefined;
  /** METHOD in lower case; default: `request` if the event has participants, else `publish`. */
  method?: string | undefined;
}

/** Exports events as iCalendar files. Stores nothing. */
@Injectable()
export class EventIcsService {
  constructor(
    private readonly database: Database,
    private readonly events: EventReader,
    private readonly calendars: CalendarsService,
    private readonly clock: Clock,
  ) {}

  /**
   * The file of a stored event. The file of a series includes all changed instances; the file of an
   * instance has only that instance.
   * @throws {NotFoundError}
   * @throws {InvalidInputError}
   */
  async ofStored(
    account: AccountPrincipal,
    id: string,
    options: EventFileOptions,
  ): Promise<string> {
    const { accountId } = account;
    const shown = await this.events.get(accountId, id);
    const ids = [shown.id, shown.masterEventId].flatMap((one) => (one && isId(one) ? [one] : []));
    const rows = await findIcsRows(this.database, accountId, ids);
    const series = rows.find((one) => one.id === shown.masterEventId);
    // An instance without a row is described by its series.
    const row = rows.find((one) => one.id === shown.id) ?? (series && { ...series, ...shown });
    if (!row) throw new NotFoundError('event', id);
    const uid = options.uid ?? row.icalUid ?? series?.icalUid ?? series?.id ?? row.id;
    const instances = row.recurrence
      ? await findIcsInstances(this.database, accountId, [row.id])
      : [];
    return this.#file(account, row, instances, { ...options, uid }, series);
  }

  /**
   * The file of an event that is not stored.
   * @throws {InvalidInputError}
   */
  async ofFields(
    account: AccountPrincipal,
    input: NewEvent,
    options: EventFileOptions,
  ): Promise<string> {
    const calendar = await this.calendars.get(account, input.calendarId).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
      throw new InvalidInputError(
        `calendar_id: Couldn't find calendar ${input.calendarId.slice(0, 100)}`,
      );
    });
    const zone = calendar.timezone ?? 'UTC';
    const blank = { ...NEW_EVENT, when: input.when, ...boundsOf(input.when, zone) };
    const row: IcsRow = {
      ...applyInput(blank, input, zone),
      id: newId(),
      icalUid: null,
      sequence: 0,
      updatedAt: this.clock.now(),
      status: 'confirmed',
      organizerEmail: account.email,
      organizerName: account.name || null,
      masterEventId: null,
      originalStart: null,
    };
    return this.#file(account, row, [], { ...options, uid: options.uid ?? newId() });
  }

  #file(
    account: AccountPrincipal,
    row: IcsRow,
    instances: readonly IcsRow[],
    { uid = row.id, method, prodid }: EventFileOptions,
    series?: IcsRow,
  ): string {
    const chosen = method ?? (withAddress(row.participants).length > 0 ? 'request' : 'publish');
    const organizer: IcsEvent['organizer'] = row.organizerEmail
      ? { email: row.organizerEmail, name: row.organizerName }
      : { email: account.email, name: account.name || null };
    const isAsking = chosen === 'request' || chosen === 'add';
    const people = {
      organizer,
      attendeesOf: ({ participants }: IcsRow) => participants,
      rsvp: isAsking,
    };
    const shown = chosen === 'cancel' ? { ...row, status: 'cancelled' as const } : row;
    const stampOf = () => this.clock.now();
    try {
      const events = icsEventsOf(shown, instances, { uid, series, people, stampOf });
      return icsOf({ method: chosen.toUpperCase(), prodid }, events);
    } catch (error) {
      if (!(error instanceof UnwritableEventError)) throw error;
      throw new InvalidInputError(error.message);
    }
  }
}
