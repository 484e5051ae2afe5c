import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ApplicationSuspendedError } from '../../platform/auth/application-suspended-error.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, restrict, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { CalendarsService } from '../calendars/calendars.service.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { DomainError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { UnwritableEventError } from '../../formats/ical/ical-fields.ts';
import { clientKey } from '../../platform/base/client-address.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { WindowedCounts } from '../../platform/base/concurrency/windowed-counts.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { icsEventsOf, type IcsRow } from '../events/ics/ics-rows.ts';
import { IcsWriter } from '../events/ics/ics-writer.ts';
import {
  type FeedAccess,
  type FeedCalendar,
  type FeedPosition,
  FeedsRepository,
} from './feeds.repository.ts';

/** A calendar file that is ready to be read. */
export interface OpenFeed {
  /** Changes whenever anything changes that the file shows. */
  etag: string;
  pieces(): AsyncGenerator<string>;
}

class TooManyReadersError extends DomainError {
  constructor(limit: number, retryAfterSeconds: number) {
    super('feed.rate-limited', 'rate-limited', 'Too many requests', { limit, retryAfterSeconds });
  }
}

const SECRET_LENGTH = 50;
const FILE = /^([0-9a-z]{50})\.ics$/;
const DAY_MS = 86_400_000;
/** Events that ended earlier are left out. */
const PAST_MS = 366 * DAY_MS;
/** Most events in one file; later ones are left out. */
const MOST_EVENTS = 10_000;
const WINDOW_SECONDS = 60;
/** Most reads of one feed in a window. Calendar programs read every few minutes. */
const MOST_READINGS = 60;
/** Most unknown URLs that one client may try in a window. */
const MOST_GUESSES = 30;
const NO_PEOPLE = { organizer: null, attendeesOf: () => [] };

/**
 * Serves calendars at secret URLs, for programs that subscribe to them. Only a hash of the secret
 * is stored, so a URL is shown once. Private events are shown as busy, and participants are not
 * named.
 */
@Injectable()
export class FeedsService {
  readonly #log = new Logger(FeedsService.name);
  readonly #readings = new WindowedCounts(WINDOW_SECONDS);
  readonly #guesses = new WindowedCounts(WINDOW_SECONDS);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: FeedsRepository,
    private readonly calendars: CalendarsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a secret URL for a calendar; an earlier one stops working.
   * @throws {NotFoundError}
   */
  async make(
    account: AccountPrincipal,
    calendarId: string,
  ): Promise<{ url: string; createdAt: Date }> {
    const { id } = await this.calendars.get(account, calendarId);
    const secret = randomBase36(SECRET_LENGTH);
    const createdAt = this.clock.now();
    await this.repository.replace(account, id, hashToken(secret), createdAt);
    return { url: new URL(`feeds/${secret}.ics`, `${this.config.baseUrl}/`).href, createdAt };
  }

  /** @throws {NotFoundError} also if the calendar has no feed */
  async get(account: AccountPrincipal, calendarId: string): Promise<{ createdAt: Date }> {
    const { id } = await this.calendars.get(account, calendarId);
    const feed = await this.repository.find(account.accountId, id);
    if (!feed) throw new NotFoundError('feed of calendar', calendarId);
    return feed;
  }

  /**
   * Revokes the secret URL of a calendar; does nothing if the calendar has none.
   * @throws {NotFoundError} if the calendar does not exist
   */
  async revoke(account: AccountPrincipal, calendarId: string): Promise<void> {
    const { id } = await this.calendars.get(account, calendarId);
    await this.repository.remove(account, id);
  }

  /**
   * Opens a feed. A valid URL is served even if the same client has tried too many unknown ones,
   * because several people may share a network address.
   * @param file last part of the URL
   * @param client network address of the client. After too many unknown URLs the error is
   *   `rate-limited` instead of not found
   * @throws {NotFoundError} also if the account may not read calendars any more
   * @throws {ApplicationSuspendedError}
   * @throws {DomainError} `rate-limited`
   */
  async open(file: string, client: string): Promise<OpenFeed> {
    const secret = FILE.exec(file)?.[1];
    const hash = secret === undefined ? undefined : hashToken(secret);
    const calendar = hash && (await this.repository.open(hash));
    if (!hash || !calendar || !maySee(calendar)) {
      spend(this.#guesses, clientKey(client), MOST_GUESSES);
      throw new NotFoundError('feed', '');
    }
    spend(this.#readings, hash.toString('base64'), MOST_READINGS);
    if (calendar.suspended) throw new ApplicationSuspendedError();
    const now = this.clock.now();
    // The day is part of the tag, because each day more events become too old for the file.
    const day = Math.floor(now.getTime() / DAY_MS);
    const tag = createHash('sha256')
      .update(`${calendar.state}/${day}/1`)
      .digest('base64url')
      .slice(0, 27);
    const since = new Date(day * DAY_MS - PAST_MS);
    return { etag: `W/"${tag}"`, pieces: () => this.#pieces(hash, calendar, since) };
  }

  async *#pieces(hash: Buffer, calendar: FeedCalendar, since: Date): AsyncGenerator<string> {
    const { name, description, timezone } = calendar;
    const writer = new IcsWriter({
      method: 'PUBLISH',
      properties: {
        'x-wr-calname': name,
        ...(description ? { 'x-wr-caldesc': description } : {}),
        ...(timezone ? { 'x-wr-timezone': timezone } : {}),
      },
    });
    yield writer.begin();
    let after: FeedPosition | null = null;
    for (let count = 0; count < MOST_EVENTS;) {
      const page = await this.repository.page(calendar, since, after);
      yield page.events
        .map((row) => this.#text(writer, row, page.instances.get(row.id) ?? []))
        .join('');
      count += page.events.length;
      after = page.next;
      if (!after) break;
      await this.#assertPublished(hash);
    }
    yield writer.end();
  }

  /**
   * A client may read slowly, and the calendar may be unpublished meanwhile.
   * @throws {NotFoundError} @throws {ApplicationSuspendedError}
   */
  async #assertPublished(hash: Buffer): Promise<void> {
    const access = await this.repository.access(hash);
    if (!access || !maySee(access)) throw new NotFoundError('feed', '');
    if (access.suspended) throw new ApplicationSuspendedError();
  }

  #text(writer: IcsWriter, row: IcsRow, instances: readonly IcsRow[]): string {
    const isPrivate = row.visibility === 'private';
    const shown = instances.map((one) =>
      isPrivate || one.visibility === 'private' ? asBusy(one) : one,
    );
    try {
      const uid = row.icalUid ?? row.id;
      const events = icsEventsOf(isPrivate ? asBusy(row) : row, shown, { uid, people: NO_PEOPLE });
      return events.map((event) => writer.add(event)).join('');
    } catch (error) {
      // Another calendar program wrote this event, and its recurrence rules cannot be parsed.
      if (!(error instanceof UnwritableEventError)) throw error;
      this.#log.debug(
        `event ${row.id} cannot be written as iCalendar and is left out of the feed: ${error.message}`,
      );
      return '';
    }
  }
}

/** Whether the scopes of the account still allow reading its calendars. */
const maySee = ({ asked, agreed }: FeedAccess): boolean =>
  allows(restrict(asked, agreed), SCOPES_FOR.readCalendar);

/** Keeps the times and hides all other details. */
function asBusy(row: IcsRow): IcsRow {
  return {
    ...row,
    title: row.busy ? 'Busy' : 'Private',
    description: '',
    location: '',
    conferencing: null,
  };
}

/** @throws {TooManyReadersError} if the key has reached its limit in this window */
function spend(counts: WindowedCounts, key: string, limit: number): void {
  const { count, secondsLeft } = counts.add(key);
  if (count > limit) throw new TooManyReadersError(limit, secondsLeft);
}
