import { invalid } from '../errors.ts';
import { posted } from '../pubsub/pubsub.ts';

/** A channel that posts notifications about one collection. */
export interface Channel {
  id: string;
  /** `events <calendar>` or `list <person>`. */
  resource: string;
  resourceId: string;
  resourceUri: string;
  address: string;
  token: string | null;
  expiresAt: number;
  messages: number;
}

const USUAL_DAYS = 7;
const MOST_DAYS = 30;

/** Channels of Calendar, and their notifications. */
export class Channels {
  readonly open = new Map<string, Channel>();
  /** Status of each notification, in order; 0 for a receiver that did not answer. */
  readonly posts: number[] = [];
  /** Where requests to a receiver's address really go. A test may replace it. */
  reach = (address: string): string => address;
  readonly #now: () => number;
  readonly #running = new Set<Promise<void>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Opens a channel, which begins with a notification `sync`. */
  add(resource: string, resourceUri: string, body: Record<string, unknown>): Channel {
    const { id, type, address, token, expiration, params } = body as {
      [key: string]: string | undefined;
    } & { params?: { ttl?: string } };
    if (!id || !/^[A-Za-z0-9\-_+/=]{1,64}$/.test(id))
      throw invalid('Invalid channel id', 'invalid');
    if (this.open.has(id)) throw invalid('Channel id not unique', 'channelIdNotUnique');
    if (type !== 'web_hook') throw invalid('Unknown channel type', 'channelUnknown');
    if (!address || !URL.canParse(address))
      throw invalid('WebHook callback must be HTTPS', 'push.webhookUrlNotHttps');
    const now = this.#now();
    const wanted = params?.ttl ? now + Number(params.ttl) * 1000 : Number(expiration ?? Number.NaN);
    const usual = now + USUAL_DAYS * 86_400_000;
    const channel: Channel = {
      id,
      resource,
      resourceId: Buffer.from(resource).toString('base64url'),
      resourceUri,
      address,
      token: token ?? null,
      expiresAt: Math.min(Number.isNaN(wanted) ? usual : wanted, now + MOST_DAYS * 86_400_000),
      messages: 0,
    };
    this.open.set(id, channel);
    this.#notify(channel, 'sync');
    return channel;
  }

  /** @returns false if there is no such channel */
  stop(id: string, resourceId: string): boolean {
    return this.open.get(id)?.resourceId === resourceId && this.open.delete(id);
  }

  /** Notifies the channels of a collection. */
  changed(resource: string): void {
    for (const channel of this.open.values())
      if (channel.resource === resource && channel.expiresAt > this.#now())
        this.#notify(channel, 'exists');
  }

  /** Waits until all notifications that have begun are answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #notify(channel: Channel, state: 'sync' | 'exists'): void {
    channel.messages += 1;
    const work = posted(this.reach(channel.address), '', {
      'x-goog-channel-id': channel.id,
      'x-goog-channel-expiration': new Date(channel.expiresAt).toUTCString(),
      'x-goog-resource-id': channel.resourceId,
      'x-goog-resource-uri': channel.resourceUri,
      'x-goog-resource-state': state,
      'x-goog-message-number': String(channel.messages),
      ...(channel.token !== null && { 'x-goog-channel-token': channel.token }),
    }).then((status) => void this.posts.push(status));
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }
}
