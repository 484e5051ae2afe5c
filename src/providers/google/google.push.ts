import type { ProviderAccount } from '../port/connector.ts';
import type {
  PulledNotifications,
  PushContext,
  PushIntegration,
  PushPort,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSubscription,
  StoredSubscription,
  SubscriptionRequest,
} from '../port/push-port.ts';
import type { GmailPush } from './gmail/gmail-push.ts';
import type { GoogleCalendarPush } from './calendar/google-calendar-push.ts';

/**
 * How Google reports changes: mail by Pub/Sub, calendars by channels. Contacts are left to polling.
 * Neither a watch nor a channel is renewed: a new one replaces it.
 */
export class GooglePush implements PushPort {
  constructor(
    private readonly mail: GmailPush,
    private readonly calendars: GoogleCalendarPush,
  ) {}

  resources(
    _account: ProviderAccount,
    calendars: readonly string[],
    context: PushContext,
  ): readonly PushResource[] {
    return [...this.mail.resources(context), ...this.calendars.resources(calendars, context)];
  }

  subscribe(account: ProviderAccount, request: SubscriptionRequest): Promise<PushSubscription> {
    return request.resource === 'mail'
      ? this.mail.subscribe(account, request.integration)
      : this.calendars.subscribe(account, request);
  }

  unsubscribe(account: ProviderAccount, subscription: StoredSubscription): Promise<void> {
    return subscription.resource === 'mail'
      ? this.mail.unsubscribe(account)
      : this.calendars.unsubscribe(account, subscription);
  }

  async receive(
    request: PushRequest,
    integration: PushIntegration | null,
    address: string | null,
  ): Promise<PushReceipt> {
    const receipt =
      this.calendars.receive(request) ?? (await this.mail.receive(request, integration, address));
    return receipt ?? { signals: [], answer: { status: 404 } };
  }

  isPulled(integration: PushIntegration): boolean {
    return this.mail.isPulled(integration);
  }

  pull(integration: PushIntegration, signal: AbortSignal): Promise<PulledNotifications> {
    return this.mail.pull(integration, signal);
  }
}
