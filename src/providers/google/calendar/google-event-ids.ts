import { ProviderError } from '../../../platform/base/errors/provider-error.ts';

/** A `providerId` of an event: the id of its calendar, a slash, and its own. */
export class EventIds {
  private constructor(
    readonly calendarId: string,
    readonly eventId: string,
  ) {}

  /**
   * The ids of an event that is created with a key, a UUID. Ids of Google may have digits and the
   * letters a to v.
   */
  static ofKey(calendarId: string, key: string): EventIds {
    return new EventIds(calendarId, key.replaceAll('-', '').toLowerCase());
  }

  /** The key that `ofKey` made the id from; `null` for other events. */
  static keyOf(eventId: string): string | null {
    const parts = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/.exec(eventId);
    return parts?.slice(1).join('-') ?? null;
  }

  static of(calendarId: string, eventId: string): EventIds {
    return new EventIds(calendarId, eventId);
  }

  /** The `providerId` of an event. */
  static join(calendarId: string, eventId: string): string {
    return `${calendarId}/${eventId}`;
  }

  /** @returns `null` if this is not the `providerId` of an event */
  static split(providerId: string): EventIds | null {
    const slash = providerId.lastIndexOf('/');
    if (slash <= 0 || slash === providerId.length - 1) return null;
    return new EventIds(providerId.slice(0, slash), providerId.slice(slash + 1));
  }

  /** @throws {ProviderError} `not-found` if this is not the `providerId` of an event */
  static require(providerId: string): EventIds {
    const ids = EventIds.split(providerId);
    if (!ids) throw new ProviderError('not-found', 'Google: there is no such event');
    return ids;
  }
}
