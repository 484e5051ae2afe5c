import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type {
  PushContext,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSubscription,
  StoredSubscription,
  SubscriptionRequest,
} from '../../port/push-port.ts';
import type { GoogleApi } from '../google-api.ts';
import { CalendarApi } from './google-calendar-api.ts';
import { GoogleError } from '../google-error.ts';

/** How long a channel is to live: a week, which is also Google's default. */
const TTL_SECONDS = 604_800;
/** Calendars such as that of public holidays do not report changes. */
const UNSUPPORTED: readonly string[] = [
  'pushNotSupportedForRequestedResource',
  'watchNotSupported',
];

const channel = z.object({
  id: z.string(),
  resourceId: z.string(),
  /** Unix milliseconds. */
  expiration: z.coerce.number(),
});

/**
 * The part of Google's `PushPort` for calendars: a channel for the list of calendars and one for
 * the events of each calendar. Google cannot extend a channel; a new one replaces it.
 */
export class GoogleCalendarPush {
  readonly #api: CalendarApi;

  constructor(api: GoogleApi) {
    this.#api = new CalendarApi(api);
  }

  /** See `PushPort.resources`. Google posts to https addresses only. */
  resources(calendars: readonly string[], { address }: PushContext): PushResource[] {
    if (!address?.startsWith('https:') || calendars.length === 0) return [];
    return ['calendars', ...calendars.map((id): PushResource => `calendar:${id}`)];
  }

  /** See `PushPort.subscribe`. */
  async subscribe(
    account: ProviderAccount,
    { resource, id, secret, address }: SubscriptionRequest,
  ): Promise<PushSubscription> {
    const params = { ttl: String(TTL_SECONDS) };
    const json = { id, type: 'web_hook', address, token: secret, params };
    // Not repeated: Google knows the id then. The caller tries again with a new one.
    const request = { method: 'POST', path: pathOf(resource), json } as const;
    try {
      const { resourceId, expiration } = await this.#api.read(account, request, channel);
      const expiresAt = new Date(expiration);
      return { id, expiresAt, details: { resourceId } };
    } catch (error) {
      if (!(error instanceof GoogleError) || !UNSUPPORTED.includes(error.reason ?? '')) throw error;
      throw new ProviderError('unsupported', error.message, { cause: error });
    }
  }

  /** See `PushPort.unsubscribe`. */
  async unsubscribe(account: ProviderAccount, subscription: StoredSubscription): Promise<void> {
    const { id, details } = subscription;
    const json = { id, resourceId: details['resourceId'] };
    const request = { method: 'POST', path: '/channels/stop', json, repeatable: true } as const;
    await this.#api.send(account, request);
  }

  /**
   * See `PushPort.receive`.
   * @returns `null` if the request is not a notification of a channel
   */
  receive({ headers }: PushRequest): PushReceipt | null {
    const subscription = headers['x-goog-channel-id'];
    if (subscription === undefined) return null;
    const answer = { status: 200 };
    // The first notification of a channel only says that it exists.
    if (headers['x-goog-resource-state'] === 'sync') return { signals: [], answer };
    const proof = { secret: headers['x-goog-channel-token'] ?? '' };
    return { signals: [{ event: 'changed', subscription, proof }], answer };
  }
}

function pathOf(resource: PushResource): string {
  const [, calendarId] = /^calendar:(.*)$/s.exec(resource) ?? [];
  return calendarId === undefined
    ? '/users/me/calendarList/watch'
    : `/calendars/${encodeURIComponent(calendarId)}/events/watch`;
}
