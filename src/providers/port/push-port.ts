import type { ProviderAccount } from './provider-account.ts';

/**
 * What a provider can report changes of:
 *
 * - `mail`: the mailbox
 * - `calendars`: the list of calendars. Also their events, if one subscription covers them
 * - `calendar:<provider id>`: the events of one calendar
 * - `contacts`: the address book
 */
export type PushResource = 'mail' | 'calendars' | 'contacts' | `calendar:${string}`;

/** The integration through which an account was connected. */
export interface PushIntegration {
  id: string;
  applicationId: string;
  /** All settings, secret ones included, with their names in the API. */
  settings: Readonly<Record<string, unknown>>;
}

/** What subscriptions of one account are made from. */
export interface PushContext {
  /** `null` if the application has no integration of this provider. */
  integration: PushIntegration | null;
  /**
   * Public https address of `/push/{provider}/{integration}`, for notifications and lifecycle
   * notices. `null` if this server has no such address. Then only providers whose notifications are
   * pulled can report changes.
   */
  address: string | null;
}

export interface SubscriptionRequest extends PushContext {
  resource: PushResource;
  /** A new UUID, for providers that let the subscriber choose the id of the subscription. */
  id: string;
  /**
   * A new random secret of 43 characters of base64url. The provider returns it with each
   * notification (token, clientState), or signs with it. Only its hash is stored.
   */
  secret: string;
}

/** A subscription as the provider made it. */
export interface PushSubscription {
  /**
   * The id by which notifications name the subscription, at most 500 characters. `null` if they
   * name the mailbox instead.
   */
  id: string | null;
  /** When the provider ends the subscription. It is renewed before. */
  expiresAt: Date;
  /** What `renew` and `unsubscribe` need besides the id, for example a resource id. No secrets. */
  details?: Readonly<Record<string, string>>;
}

/** A subscription that was stored earlier. */
export interface StoredSubscription extends PushSubscription {
  resource: PushResource;
  details: Readonly<Record<string, string>>;
}

/** A request to `/push/{provider}`. Anybody can send one: nothing in it is to be believed. */
export interface PushRequest {
  method: 'GET' | 'POST';
  /** Header names are in lower case. Repeated headers are joined by commas. */
  headers: Readonly<Record<string, string>>;
  /** The first value of each parameter. */
  query: Readonly<Record<string, string>>;
  /** Exactly the bytes that arrived, at most 1 MB; signatures cover them. */
  body: Buffer;
}

/**
 * What the provider reports:
 *
 * - `changed`: the resource has changed
 * - `missed`: notifications were lost; the resource is read as if it had changed
 * - `renew`: the subscription needs to be renewed now (Graph: `reauthorizationRequired`)
 * - `removed`: the provider has ended the subscription; a new one is made
 */
export type PushEvent = 'changed' | 'missed' | 'renew' | 'removed';

/** One notification, about a subscription or about a mailbox. */
export type PushSignal =
  | {
      event: PushEvent;
      /** The id that `subscribe` returned. */
      subscription: string;
      /**
       * The secret that came with the notification, which the caller compares with the stored one;
       * or `verified` if `receive` has checked a signature.
       */
      proof: { secret: string } | 'verified';
    }
  | {
      event: PushEvent;
      /** Address of the mailbox. Only accounts of the notified integration are considered. */
      mailbox: string;
      resource: PushResource;
      /** Such a signal has no secret of its own: the connector must have verified its sender. */
      proof: 'verified';
    };

export interface PushAnswer {
  status: number;
  /** Default: no content. */
  body?: string;
  /** Default `text/plain`. */
  contentType?: 'text/plain' | 'application/json';
}

/** What a request to `/push/{provider}` means, and how to answer it. */
export interface PushReceipt {
  /** At most 1,000 are considered. Empty for handshakes and refused requests. */
  signals: readonly PushSignal[];
  /**
   * Sent after the signals are stored, if any of them is about a live subscription or if there are
   * none.
   */
  answer: PushAnswer;
  /**
   * Sent if no signal is about a live subscription, or every secret is wrong. It should make the
   * provider stop. Default: 404.
   */
  unknown?: PushAnswer;
}

/** Notifications that a provider has kept for us. */
export interface PulledNotifications {
  signals: readonly PushSignal[];
  /** Tells the provider to forget them. Called after the signals are stored. */
  acknowledge(): Promise<void>;
}

/**
 * How a provider reports changes, so that they appear sooner than with polling. Polling goes on,
 * less often: a lost notification costs minutes. A caller may lose subscriptions, for example when
 * its process dies; so each must end by itself after at most some weeks.
 */
export interface PushPort {
  /**
   * The resources to subscribe to. An account is polled less often while all of them have a live
   * subscription and they include its mailbox and its calendars, if it has those. Contacts count
   * only if they are listed. Uses no network.
   * @param calendars provider ids of the account's calendars
   * @returns an empty list if the account cannot have subscriptions
   */
  resources(
    account: ProviderAccount,
    calendars: readonly string[],
    context: PushContext,
  ): readonly PushResource[];
  /**
   * Subscribes to one resource. Notifications may arrive before this method returns; they are then
   * refused as unknown, and the resource is read once the subscription is stored.
   * @throws {ProviderError} `unsupported` if the provider does not report changes of this
   *   resource; it is asked again after a day. Such a calendar is left to polling, and the account
   *   can still be polled less often. Other errors are retried with a growing wait
   */
  subscribe(account: ProviderAccount, request: SubscriptionRequest): Promise<PushSubscription>;
  /**
   * Extends a subscription. If absent, a new subscription replaces the old one, which is then
   * unsubscribed.
   * @returns the same id with a later end
   * @throws {ProviderError} `not-found` if the subscription no longer exists; a new one is made
   */
  renew?(
    account: ProviderAccount,
    subscription: StoredSubscription,
    context: PushContext,
  ): Promise<PushSubscription>;
  /**
   * Ends a subscription. Tried a few times; a subscription that stays ends by itself.
   * @throws {ProviderError} `not-found` if it no longer exists
   */
  unsubscribe(account: ProviderAccount, subscription: StoredSubscription): Promise<void>;
  /**
   * Reads a request to `/push/{provider}` or `/push/{provider}/{integration}`. It must be cheap for
   * forged requests: the caller compares secrets, and a connector that checks signatures uses
   * cached keys. Never throws because of what the request contains.
   * @param integration the one that the address names; `null` if it names none
   * @param address the address for notifications of this integration, as in `PushContext`
   */
  receive(
    request: PushRequest,
    integration: PushIntegration | null,
    address: string | null,
  ): Promise<PushReceipt>;
  /** Whether notifications of this integration are to be pulled. Uses no network. */
  isPulled?(integration: PushIntegration): boolean;
  /**
   * Waits for notifications, for some seconds at most. Needed if `isPulled` can be true. One
   * process at a time pulls for an integration, again and again.
   * @param signal aborted when the process stops or no longer has the lease
   * @throws {ProviderError} retried with a growing wait
   */
  pull?(integration: PushIntegration, signal: AbortSignal): Promise<PulledNotifications>;
}
