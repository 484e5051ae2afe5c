import type { ProviderAccount } from '../port/connector.ts';
import type {
  PushContext,
  PushPort,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSubscription,
  StoredSubscription,
  SubscriptionRequest,
} from '../port/push-port.ts';
import type { GoogleCalendarPush } from './google-calendar-push.ts';

/** How Google reports changes: calendars by channels. Mail and contacts are left to polling. */
export class GooglePush implements PushPort {
  constructor(private readonly calendars: GoogleCalendarPush) {}

  resources(
    _account: ProviderAccount,
    calendars: readonly string[],
    context: PushContext,
  ): readonly PushResource[] {
    return this.calendars.resources(calendars, context);
  }

  subscribe(account: ProviderAccount, request: SubscriptionRequest): Promise<PushSubscription> {
    return this.calendars.subscribe(account, request);
  }

  unsubscribe(account: ProviderAccount, subscription: StoredSubscription): Promise<void> {
    return this.calendars.unsubscribe(account, subscription);
  }

  receive(request: PushRequest): Promise<PushReceipt> {
    const receipt = this.calendars.receive(request);
    return Promise.resolve(receipt ?? { signals: [], answer: { status: 404 } });
  }
}
