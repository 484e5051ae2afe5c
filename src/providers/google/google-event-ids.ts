import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** A `providerId` of an event: the id of its calendar, a slash, and its own. */
export class EventIds {
  private constructor(
    readonly calendarId: string,
    readonly eventId: string,
  ) {}

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
