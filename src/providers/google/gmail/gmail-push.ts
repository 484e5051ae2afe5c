import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { GmailCosts } from '../../../platform/config/sections/gmail-costs.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type {
  PulledNotifications,
  PushContext,
  PushIntegration,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSignal,
  PushSubscription,
} from '../../port/push-port.ts';
import { jsonOf } from '../../port/service-responses.ts';
import type { GoogleApi } from '../google-api.ts';
import { GoogleError } from '../google-error.ts';
import type { GooglePubSub } from '../google-pubsub.ts';
import type { GooglePushTokens } from '../google-push-tokens.ts';

const watched = z.object({
  /** Unix milliseconds. */
  expiration: z.coerce.number(),
});

/** What Gmail publishes. */
const announcement = z.object({ emailAddress: z.string().min(3) });
const delivery = z.object({ message: z.object({ data: z.string() }) });

const ME = '/gmail/v1/users/me';
/** Gmail publishes the changes of a mailbox to one topic of a project at a time. */
const OTHER_TOPIC = /only one user push notification/i;

/** Settings of an integration that concern Pub/Sub. */
const settingsShape = z.object({
  pubsub_topic: z.string().min(1).nullish().catch(null),
  pubsub_push_account: z.string().min(1).nullish().catch(null),
  pubsub_subscription: z.string().min(1).nullish().catch(null),
  service_account_json: z.string().min(1).nullish().catch(null),
});
const settingsOf = (integration: PushIntegration | null) =>
  settingsShape.parse(integration?.settings ?? {});

/**
 * The part of Google's `PushPort` for mail. Gmail publishes the addresses of changed mailboxes to a
 * topic of Pub/Sub, which pushes them to Carillon or keeps them to be pulled.
 */
export class GmailPush {
  constructor(
    private readonly api: GoogleApi,
    private readonly pubsub: GooglePubSub,
    private readonly tokens: GooglePushTokens,
    private readonly costs: GmailCosts,
  ) {}

  /** See `PushPort.resources`: mail, if the integration names a topic and a way to receive. */
  resources({ integration, address }: PushContext): PushResource[] {
    const { pubsub_topic, pubsub_push_account } = settingsOf(integration);
    if (!pubsub_topic || !integration) return [];
    const isPushed = Boolean(pubsub_push_account) && address !== null;
    return isPushed || this.isPulled(integration) ? ['mail'] : [];
  }

  /** See `PushPort.subscribe`. A watch that exists is extended. */
  async subscribe(
    account: ProviderAccount,
    integration: PushIntegration | null,
  ): Promise<PushSubscription> {
    const { pubsub_topic } = settingsOf(integration);
    if (!pubsub_topic)
      throw new ProviderError('unsupported', 'The integration has no pubsub_topic');
    try {
      return await this.#watch(account, pubsub_topic);
    } catch (error) {
      if (!(error instanceof GoogleError)) throw error;
      if (error.isWithoutConsent)
        throw new ProviderError('unsupported', error.message, { cause: error });
      if (!OTHER_TOPIC.test(error.message)) throw error;
      await this.unsubscribe(account);
      return this.#watch(account, pubsub_topic);
    }
  }

  /** See `PushPort.unsubscribe`. */
  async unsubscribe(account: ProviderAccount): Promise<void> {
    await this.api.send(account, {
      method: 'POST',
      path: `${ME}/stop`,
      repeatable: true,
      units: this.costs.stop,
      priority: 'interactive',
    });
  }

  /**
   * See `PushPort.receive`.
   * @param address of the integration's notifications, which the token must name
   * @returns `null` if the integration expects no pushes of Pub/Sub, or the request is none
   */
  async receive(
    { method, headers, body }: PushRequest,
    integration: PushIntegration | null,
    address: string | null,
  ): Promise<PushReceipt | null> {
    const [, token] = /^Bearer +(\S+)$/i.exec(headers['authorization'] ?? '') ?? [];
    const { pubsub_push_account: email } = settingsOf(integration);
    if (method !== 'POST' || token === undefined || !email || address === null) return null;
    const verdict = await this.tokens.check(token, { audience: address, email });
    if (verdict === 'refused') return { signals: [], answer: { status: 401 } };
    // Pub/Sub repeats the delivery.
    if (verdict === 'unknown') return { signals: [], answer: { status: 503 } };
    // Pub/Sub repeats what is refused, so other messages and unknown mailboxes are accepted.
    const accepted = { status: 204 };
    const data = delivery.safeParse(jsonOf(body)).data?.message.data;
    return { signals: data ? signalsOf([data]) : [], answer: accepted, unknown: accepted };
  }

  /** See `PushPort.isPulled`. */
  isPulled(integration: PushIntegration): boolean {
    const settings = settingsOf(integration);
    const { pubsub_topic, pubsub_subscription, service_account_json } = settings;
    return Boolean(pubsub_topic && pubsub_subscription && service_account_json);
  }

  /** See `PushPort.pull`. */
  async pull(integration: PushIntegration, signal: AbortSignal): Promise<PulledNotifications> {
    const { pubsub_subscription, service_account_json } = settingsOf(integration);
    if (!pubsub_subscription || !service_account_json)
      throw new ProviderError(
        'unsupported',
        'Pulling needs the settings pubsub_subscription and service_account_json',
      );
    const source = { subscription: pubsub_subscription, key: service_account_json };
    const { data, ackIds } = await this.pubsub.pull(source, signal);
    return {
      signals: signalsOf(data),
      acknowledge: () => this.pubsub.acknowledge(source, ackIds),
    };
  }

  async #watch(account: ProviderAccount, topicName: string): Promise<PushSubscription> {
    const { expiration } = await this.api.read(
      account,
      {
        method: 'POST',
        path: `${ME}/watch`,
        json: { topicName },
        // A second watch of the same topic replaces the first one.
        repeatable: true,
        units: this.costs.watch,
        priority: 'interactive',
      },
      watched,
    );
    return { id: null, expiresAt: new Date(expiration) };
  }
}

/** One signal for each mailbox that the messages name; other messages are left out. */
function signalsOf(messages: readonly string[]): PushSignal[] {
  const mailboxes = messages.flatMap((data) => {
    const parsed = announcement.safeParse(jsonOf(Buffer.from(data, 'base64'))).data;
    return parsed ? [parsed.emailAddress.toLowerCase()] : [];
  });
  return [...new Set(mailboxes)].map((mailbox) => ({
    event: 'changed',
    mailbox,
    resource: 'mail',
    proof: 'verified',
  }));
}
