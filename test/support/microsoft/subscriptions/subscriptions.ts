import { randomUUID } from 'node:crypto';
import type { StubUser } from '../directory/directory.ts';
import type { Json } from '../http/types.ts';
import type { ItemChange } from '../mail/mailbox.ts';
import type { StubSettings } from '../settings.ts';
import { watches, type WatchedResource } from './watched-resource.ts';

export interface Subscription {
  id: string;
  applicationId: string;
  creatorId: string;
  user: StubUser;
  watched: WatchedResource;
  resource: string;
  changeTypes: Set<string>;
  notificationUrl: string;
  lifecycleNotificationUrl: string | null;
  clientState: string | null;
  expires: Date;
  /** Notifications have immutable ids if the request that created it asked for them. */
  immutable: boolean;
  /** True from the notice reauthorizationRequired until the subscription is renewed. */
  needsReauthorization: boolean;
}

/** A notice about a subscription itself. */
export type LifecycleEvent = 'reauthorizationRequired' | 'subscriptionRemoved' | 'missed';

/** A notification or notice as it was posted. */
export interface Posted {
  url: string;
  body: Json;
  /** Status of the answer; null if there was none. */
  status: number | null;
}

/** How long Graph gathers changes for one receiver before it posts them, in milliseconds. */
const GATHER_MS = 10;

/** Subscriptions of all applications, and the notifications that they cause. */
export class Subscriptions {
  readonly #all = new Map<string, Subscription>();
  readonly #pending = new Map<string, Json[]>();
  readonly #settings: StubSettings;
  readonly #now: () => number;
  readonly #later: (ms: number, action: () => void) => void;
  /** Everything that was posted to receivers, in order. */
  readonly posted: Posted[] = [];
  /** A fault: changes cause no notifications. */
  isSilent = false;
  /** Where requests to a receiver's address really go. A test may replace it. */
  reach = (address: string): string => address;

  constructor(
    settings: StubSettings,
    now: () => number,
    later: (ms: number, action: () => void) => void,
  ) {
    this.#settings = settings;
    this.#now = now;
    this.#later = later;
  }

  /** Subscriptions that have not expired. */
  get all(): Subscription[] {
    for (const [id, { expires }] of this.#all) {
      if (expires.getTime() <= this.#now()) this.#all.delete(id);
    }
    return [...this.#all.values()];
  }

  get(id: string): Subscription | undefined {
    return this.all.find((subscription) => subscription.id === id);
  }

  add(subscription: Subscription): void {
    this.#all.set(subscription.id, subscription);
  }

  remove(id: string): void {
    this.#all.delete(id);
  }

  /**
   * Asks a receiver to confirm its address.
   * @returns null if it did; otherwise what was wrong
   */
  async confirm(address: string): Promise<string | null> {
    const token = `Validation: Testing client application reachability ${randomUUID()} +&`;
    const url = new URL(this.reach(address));
    url.searchParams.set('validationToken', token);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        signal: AbortSignal.timeout(this.#settings.validationTimeoutMs),
      });
      const text = await response.text();
      if (response.status !== 200) return `it answered ${response.status}`;
      if (!response.headers.get('content-type')?.startsWith('text/plain')) {
        return 'the answer is not text/plain';
      }
      return text === token ? null : 'the answer is not the validation token';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Notifies everyone who watches the item. */
  changed(user: StubUser, change: ItemChange): void {
    if (this.isSilent) return;
    for (const subscription of this.all) {
      if (subscription.user !== user || !subscription.changeTypes.has(change.change)) continue;
      if (!watches(subscription.watched, change)) continue;
      this.#notify(subscription, notification(subscription, change));
    }
  }

  /** Posts a notice. `subscriptionRemoved` removes the subscription first. */
  async lifecycle(id: string, lifecycleEvent: LifecycleEvent): Promise<void> {
    const subscription = this.get(id);
    if (!subscription) throw new Error(`The stub has no subscription ${id}.`);
    if (lifecycleEvent === 'subscriptionRemoved') this.remove(id);
    if (lifecycleEvent === 'reauthorizationRequired') subscription.needsReauthorization = true;
    const { lifecycleNotificationUrl: url, clientState, expires, user, resource } = subscription;
    if (url === null) return;
    const notice = {
      subscriptionId: id,
      subscriptionExpirationDateTime: expires.toISOString(),
      tenantId: user.tenantId,
      clientState,
      lifecycleEvent,
      ...(lifecycleEvent === 'missed' ? { resource, changeType: 'missed' } : {}),
    };
    await this.#post(url, { value: [notice] }, []);
  }

  #notify({ notificationUrl }: Subscription, entry: Json): void {
    const pending = this.#pending.get(notificationUrl);
    if (pending) {
      pending.push(entry);
      return;
    }
    this.#pending.set(notificationUrl, [entry]);
    this.#later(GATHER_MS, () => {
      const value = this.#pending.get(notificationUrl) ?? [];
      this.#pending.delete(notificationUrl);
      void this.#post(notificationUrl, { value }, this.#settings.notificationRetriesMs);
    });
  }

  async #post(url: string, body: Json, retriesMs: number[]): Promise<void> {
    const posted: Posted = { url, body, status: null };
    this.posted.push(posted);
    try {
      const response = await fetch(this.reach(url), {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      await response.arrayBuffer();
      posted.status = response.status;
    } catch {
      // A receiver that does not answer is asked again, like one that answers an error.
      posted.status = null;
    }
    const [wait, ...rest] = retriesMs;
    if (wait === undefined || (posted.status !== null && posted.status < 300)) return;
    this.#later(wait, () => void this.#post(url, body, rest));
  }
}

const TYPE = { messages: 'Message', events: 'Event', contacts: 'Contact' };

function notification(subscription: Subscription, { resource, change, ids }: ItemChange): Json {
  const id = subscription.immutable ? ids.immutableId : ids.restId;
  const path = `Users/${subscription.user.id}/${TYPE[resource]}s/${id}`;
  return {
    subscriptionId: subscription.id,
    subscriptionExpirationDateTime: subscription.expires.toISOString(),
    changeType: change,
    resource: path,
    resourceData: {
      '@odata.type': `#Microsoft.Graph.${TYPE[resource]}`,
      '@odata.id': path,
      id,
    },
    clientState: subscription.clientState,
    tenantId: subscription.user.tenantId,
  };
}
