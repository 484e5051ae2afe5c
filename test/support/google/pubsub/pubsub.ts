import { setTimeout as delay } from 'node:timers/promises';

/** A message of a topic. */
export interface PubSubMessage {
  /** JSON in base64. */
  data: string;
  messageId: string;
  publishTime: string;
}

interface Waiting {
  message: PubSubMessage;
  ackId: string;
  /** Milliseconds until which nobody else gets it. */
  leasedUntil: number;
}

/** A subscription to a topic. */
export interface Subscription {
  /** projects/{project}/subscriptions/{name} */
  name: string;
  topic: string;
  ackDeadlineSeconds: number;
  /** Where messages are posted; null for a subscription that is pulled. */
  push: { endpoint: string; audience: string; serviceAccountEmail: string } | null;
  waiting: Waiting[];
}

/** What Pub/Sub needs of the stub. */
export interface PushSigner {
  now(): number;
  origin(): string;
  /** Signs claims with Google's key. */
  signed(claims: object): string;
}

/** How often a push is tried before the stub gives up. */
const PUSH_TRIES = 5;

/** Topics and subscriptions of Google Cloud Pub/Sub. Topics need not be made. */
export class PubSub {
  readonly subscriptions = new Map<string, Subscription>();
  /** Status of each push, in order; 0 for a receiver that did not answer. */
  readonly pushes: number[] = [];
  /** Where requests to a receiver's address really go. A test may replace it. */
  reach = (address: string): string => address;
  readonly #signer: PushSigner;
  readonly #running = new Set<Promise<void>>();
  #ids = 0;

  constructor(signer: PushSigner) {
    this.#signer = signer;
  }

  /**
   * Adds a subscription.
   * @param push where messages are posted, with the audience of the token. Default: it is pulled
   */
  subscribe(
    name: string,
    topic: string,
    push: { endpoint: string; audience?: string; serviceAccountEmail?: string } | null = null,
  ): Subscription {
    const subscription: Subscription = {
      name,
      topic,
      ackDeadlineSeconds: 10,
      push: push && {
        endpoint: push.endpoint,
        audience: push.audience ?? push.endpoint,
        serviceAccountEmail: push.serviceAccountEmail ?? 'push@stub.iam.gserviceaccount.com',
      },
      waiting: [],
    };
    this.subscriptions.set(name, subscription);
    return subscription;
  }

  /** Gives a message to every subscription of a topic. */
  publish(topic: string, data: object): void {
    this.#ids += 1;
    const message = {
      data: Buffer.from(JSON.stringify(data)).toString('base64'),
      messageId: String(this.#ids),
      publishTime: new Date(this.#signer.now()).toISOString(),
    };
    for (const subscription of this.subscriptions.values()) {
      if (subscription.topic !== topic) continue;
      if (subscription.push) this.#track(this.#push(subscription, message));
      else subscription.waiting.push({ message, ackId: `ack-${this.#ids}`, leasedUntil: 0 });
    }
  }

  /** Takes messages, which come again after the deadline unless they are acknowledged. */
  pull(subscription: Subscription, most: number): { ackId: string; message: PubSubMessage }[] {
    const now = this.#signer.now();
    const free = subscription.waiting.filter(({ leasedUntil }) => leasedUntil <= now);
    return free.slice(0, most).map((one) => {
      one.leasedUntil = now + subscription.ackDeadlineSeconds * 1000;
      return { ackId: one.ackId, message: one.message };
    });
  }

  acknowledge(subscription: Subscription, ackIds: readonly string[]): void {
    subscription.waiting = subscription.waiting.filter(({ ackId }) => !ackIds.includes(ackId));
  }

  /** Changes how long messages stay with the client that pulled them. */
  lease(subscription: Subscription, ackIds: readonly string[], seconds: number): void {
    for (const one of subscription.waiting)
      if (ackIds.includes(one.ackId)) one.leasedUntil = this.#signer.now() + seconds * 1000;
  }

  /** Waits until all pushes that have begun are answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #push({ push, name }: Subscription, message: PubSubMessage): Promise<void> {
    if (!push) return;
    const body = JSON.stringify({
      message: { ...message, message_id: message.messageId, publish_time: message.publishTime },
      subscription: name,
    });
    for (let tries = 0; tries < PUSH_TRIES; tries += 1) {
      const status = await posted(this.reach(push.endpoint), body, {
        'content-type': 'application/json',
        authorization: `Bearer ${this.#token(push.audience, push.serviceAccountEmail)}`,
      });
      this.pushes.push(status);
      if ([102, 200, 201, 202, 204].includes(status)) return;
      await delay(50 * 2 ** tries);
    }
  }

  #token(aud: string, email: string): string {
    const iat = Math.floor(this.#signer.now() / 1000);
    const claims = { iss: this.#signer.origin(), aud, azp: email, email, email_verified: true };
    return this.#signer.signed({ ...claims, sub: '1122334455', iat, exp: iat + 3600 });
  }
}

/** Posts a notification. @returns the status; 0 if there is no answer */
export async function posted(
  address: string,
  body: string,
  headers: Record<string, string>,
): Promise<number> {
  try {
    const answer = await fetch(address, { method: 'POST', body, headers, redirect: 'manual' });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    if (error instanceof TypeError) return 0;
    throw error;
  }
}
