import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type {
  ProviderAccount,
  PushContext,
  PushEvent,
  PushPort,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSignal,
  PushSubscription,
  StoredSubscription,
  SubscriptionRequest,
} from '../port/connector.ts';
import { jsonOf } from '../port/service-responses.ts';
import { type GraphApi, mailboxPath } from './graph-api.ts';
import { GraphError } from './graph-error.ts';
import { microsoftSettings } from './microsoft.settings.ts';

/** Life of a subscription: Graph allows 10,080 minutes, by its own clock. */
const LIFE_MS = 10_000 * 60_000;

const subscription = z.object({ id: z.string(), expirationDateTime: z.string() });
const notifications = z.object({ value: z.array(z.unknown()) });
const notification = z.object({
  subscriptionId: z.string(),
  clientState: z.string().nullish(),
  lifecycleEvent: z.string().nullish(),
});

/** What notices about a subscription mean. Others are treated as lost notifications. */
const LIFECYCLE: Readonly<Record<string, PushEvent>> = {
  reauthorizationRequired: 'renew',
  subscriptionRemoved: 'removed',
  missed: 'missed',
};

/**
 * Reports of Graph about changes: one subscription for the mail, one for the contacts of all
 * folders, and one for the events of all calendars. Microsoft documents no subscription to a single
 * calendar.
 */
export class GraphPush implements PushPort {
  constructor(
    private readonly graph: GraphApi,
    private readonly clock: Clock,
  ) {}

  /** Users cannot subscribe to shared mailboxes, only applications that act by themselves can. */
  resources(
    { settings }: ProviderAccount,
    calendars: readonly string[],
    { address }: PushContext,
  ): readonly PushResource[] {
    const { app_only, shared_mailbox } = microsoftSettings.parse(settings);
    if (address === null || (shared_mailbox && !app_only)) return [];
    return ['mail', 'contacts', ...(calendars.length > 0 ? (['calendars'] as const) : [])];
  }

  async subscribe(
    account: ProviderAccount,
    { resource, secret, address }: SubscriptionRequest,
  ): Promise<PushSubscription> {
    const below = pathOf(resource);
    if (below === null || address === null)
      throw new ProviderError('unsupported', `Microsoft does not report changes of ${resource}`);
    try {
      const made = await this.graph.read(
        account,
        {
          method: 'POST',
          path: '/subscriptions',
          root: true,
          json: {
            changeType: 'created,updated,deleted',
            resource: `${mailboxPath(account).slice(1)}/${below}`,
            notificationUrl: address,
            lifecycleNotificationUrl: address,
            clientState: secret,
            expirationDateTime: this.#end(),
            latestSupportedTlsVersion: 'v1_2',
          },
          priority: 'interactive',
          repeatable: true,
        },
        subscription,
      );
      return subscriptionOf(made);
    } catch (error) {
      if (!(error instanceof GraphError) || error.status !== 403) throw error;
      throw new ProviderError('unsupported', error.message, { cause: error });
    }
  }

  /** Renewing also answers a request to prove the authorization again. */
  async renew(
    account: ProviderAccount,
    { id }: Pick<StoredSubscription, 'id'>,
  ): Promise<PushSubscription> {
    const request = {
      method: 'PATCH',
      path: `/subscriptions/${encodeURIComponent(id ?? '')}`,
      root: true,
      json: { expirationDateTime: this.#end() },
      priority: 'interactive',
      repeatable: true,
    } as const;
    return subscriptionOf(await this.graph.read(account, request, subscription));
  }

  async unsubscribe(
    account: ProviderAccount,
    { id }: Pick<StoredSubscription, 'id'>,
  ): Promise<void> {
    await this.graph.send(account, {
      method: 'DELETE',
      path: `/subscriptions/${encodeURIComponent(id ?? '')}`,
      root: true,
      priority: 'interactive',
    });
  }

  /** Graph proves an address with a token that it expects back as text. */
  async receive({ query, body }: PushRequest): Promise<PushReceipt> {
    const { validationToken } = query;
    if (validationToken !== undefined)
      return { signals: [], answer: { status: 200, body: validationToken } };
    const parsed = notifications.safeParse(jsonOf(body)).data;
    if (!parsed) return { signals: [], answer: { status: 400 } };
    // Graph repeats what is refused, so unknown subscriptions are accepted: they end by themselves.
    const accepted = { status: 202 };
    return { signals: parsed.value.flatMap(signalOf), answer: accepted, unknown: accepted };
  }

  #end(): string {
    return new Date(this.clock.now().getTime() + LIFE_MS).toISOString();
  }
}

const subscriptionOf = ({
  id,
  expirationDateTime,
}: z.infer<typeof subscription>): PushSubscription => ({
  id,
  expiresAt: new Date(expirationDateTime),
});

/** The path of a resource below the mailbox; `null` for one that Graph does not report. */
function pathOf(resource: PushResource): string | null {
  if (resource === 'mail') return 'messages';
  if (resource === 'contacts') return 'contacts';
  return resource === 'calendars' ? 'events' : null;
}

function signalOf(value: unknown): PushSignal[] {
  const one = notification.safeParse(value).data;
  if (!one) return [];
  const { subscriptionId, clientState, lifecycleEvent } = one;
  const event = lifecycleEvent ? (LIFECYCLE[lifecycleEvent] ?? 'missed') : 'changed';
  return [{ event, subscription: subscriptionId, proof: { secret: clientState ?? '' } }];
}
