import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type {
  Connector,
  ProviderAccount,
  PushAnswer,
  PushIntegration,
  PushPort,
  PushReceipt,
  PushRequest,
  PushResource,
  PushSignal,
  RemoteMessage,
} from '../../src/providers/port/connector.ts';
import { BLANK } from './hosted-events.ts';

/** A subscription at the made-up provider. */
export interface RemoteSubscription {
  id: string;
  email: string;
  resource: PushResource;
  address: string;
  secret: string;
  expiresAt: number;
}

/** A notification as the made-up provider sends it. */
export interface Notification {
  subscription: string;
  secret: string;
  event: string;
}

const WEEK_MS = 7 * 86_400_000;
const SUBSCRIPTION_PATH = /^\/subscriptions\/([^/]+)$/;

const notifications = z.object({
  notifications: z.array(
    z.object({
      subscription: z.string(),
      secret: z.string(),
      event: z.enum(['changed', 'missed', 'renew', 'removed']),
    }),
  ),
});

/**
 * A made-up provider of mail and calendars that reports changes: an HTTP server in this process,
 * with subscriptions that end, and the connector for it. It is not like any real provider: it asks
 * for a handshake before a subscription, returns a secret with each notification, and renews.
 */
export class PushProvider {
  readonly subscriptions = new Map<string, RemoteSubscription>();
  /** Requests about subscriptions, in order: `POST mail`, `PATCH mail`, `DELETE mail`. */
  readonly requests: string[] = [];
  /** Calls of the connector that read changes: `mail ada@…`, `calendar work`. */
  readonly reads: string[] = [];
  /** Status of the next answers to requests about subscriptions, in order. */
  readonly refusals: number[] = [];
  readonly calendars = new Map<string, string[]>();
  readonly queue: Notification[] = [];
  /** Origin of the server to notify, in place of that in the address of a subscription. */
  target = '';
  lifeMs = WEEK_MS;
  /** Whether accounts have an address book, whose changes are reported. */
  hasContacts = false;
  /** Called after a subscription was made, before the request is answered. */
  onSubscribed: (subscription: RemoteSubscription) => Promise<unknown> = () => Promise.resolve();
  readonly #messages = new Map<string, string[]>();
  readonly #events = new Map<string, string[]>();
  readonly #server = http.createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  constructor(private readonly now: () => Date = () => new Date()) {}

  static async start(now?: () => Date): Promise<PushProvider> {
    const provider = new PushProvider(now);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A message arrives. Subscribers learn nothing of it. */
  arrive(email: string, subject: string): void {
    this.#messages.set(email, [...(this.#messages.get(email) ?? []), subject]);
  }

  /** An event is added to a calendar. Subscribers learn nothing of it. */
  plan(calendar: string, title: string): void {
    this.#events.set(calendar, [...(this.#events.get(calendar) ?? []), title]);
  }

  /** The subscriptions of an account, by resource. */
  of(email: string): RemoteSubscription[] {
    return [...this.subscriptions.values()]
      .filter((one) => one.email === email)
      .toSorted((a, b) => a.resource.localeCompare(b.resource));
  }

  /** The first of these subscriptions. */
  first(email: string): RemoteSubscription {
    const [subscription] = this.of(email);
    if (!subscription) throw new Error(`${email} has no subscription`);
    return subscription;
  }

  /** Notifies the subscribers of a resource. @returns the statuses of the answers */
  async notify(email: string, resource: PushResource, event = 'changed'): Promise<number[]> {
    const subscribed = this.of(email).filter((one) => one.resource === resource);
    return Promise.all(
      subscribed.map(({ id, secret, address }) =>
        this.post(address, [{ subscription: id, secret, event }]),
      ),
    );
  }

  /** Posts notifications to an address of the server. @returns the status of the answer */
  async post(address: string, sent: readonly Notification[]): Promise<number> {
    const body = JSON.stringify({ notifications: sent });
    const response = await fetch(this.#targetOf(address), { method: 'POST', body });
    return response.status;
  }

  /** The connector of this provider, which takes the name of another. */
  connector(name: Connector['name'] = 'sandbox'): Connector {
    const mail = {
      listChanges: (account: ProviderAccount, asked: { cursor: string | null }) =>
        Promise.resolve(this.#mailChanges(account, asked.cursor)),
    };
    const calendar = {
      listCalendars: ({ email }: ProviderAccount) => Promise.resolve(this.#calendarsOf(email)),
      listEventChanges: (_: unknown, calendarId: string, cursor: string | null) =>
        Promise.resolve(this.#eventChanges(calendarId, cursor)),
      asStored: (event: unknown) => event,
    };
    const push = new MadeUpPush(this);
    const settingsSchema = z.record(z.string(), z.unknown());
    const contacts = this.hasContacts ? { contacts: this.#contacts() } : {};
    return { name, settingsSchema, mail, calendar, push, ...contacts } as unknown as Connector;
  }

  #contacts() {
    const listContactChanges = ({ email }: ProviderAccount) => {
      this.reads.push(`contacts ${email}`);
      return Promise.resolve({
        cursor: '0',
        more: false,
        contacts: [],
        removed: [],
        present: null,
      });
    };
    return { hasAddressBook: () => true, listContactChanges };
  }

  #mailChanges({ email }: ProviderAccount, cursor: string | null) {
    this.reads.push(`mail ${email}`);
    const all = this.#messages.get(email) ?? [];
    const messages = all.slice(Number(cursor ?? 0)).map((subject) => messageOf(subject));
    return {
      cursor: String(all.length),
      more: false,
      present: true,
      folders: cursor === null ? [{ providerId: 'in', name: 'inbox', displayName: 'Inbox' }] : null,
      renamed: [],
      messages,
      removed: [],
    };
  }

  #calendarsOf(email: string) {
    return (this.calendars.get(email) ?? []).map((providerId, index) => ({
      providerId,
      name: providerId,
      description: null,
      location: null,
      timezone: 'Europe/Berlin',
      isPrimary: index === 0,
      readOnly: false,
    }));
  }

  #eventChanges(calendarId: string, cursor: string | null) {
    this.reads.push(`calendar ${calendarId}`);
    const all = this.#events.get(calendarId) ?? [];
    const events = all.slice(Number(cursor ?? 0)).map((title) => ({
      providerId: `${calendarId}/${title}`,
      icalUid: `${calendarId}/${title}@push.test`,
      content: contentOf(title),
      masterProviderId: null,
      originalStartTime: null,
      organizer: null,
      sequence: 0,
    }));
    return { cursor: String(all.length), more: false, events, removed: [], present: null };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, id = ''] = SUBSCRIPTION_PATH.exec(request.url ?? '') ?? [];
    const text = Buffer.concat(chunks).toString();
    const asked = (text ? JSON.parse(text) : {}) as Omit<RemoteSubscription, 'id' | 'expiresAt'>;
    const known = this.subscriptions.get(id);
    this.requests.push(`${request.method} ${asked.resource ?? known?.resource ?? 'unknown'}`);
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return void response.writeHead(refusal).end();
    if (request.method === 'POST') return this.#subscribe(asked, response);
    if (!known) return void response.writeHead(404).end();
    if (request.method === 'DELETE') this.subscriptions.delete(id);
    else known.expiresAt = this.now().getTime() + this.lifeMs;
    response.end(JSON.stringify(known));
  }

  async #subscribe(
    asked: Omit<RemoteSubscription, 'id' | 'expiresAt'>,
    response: ServerResponse,
  ): Promise<void> {
    const challenge = newId();
    const address = `${this.#targetOf(asked.address)}?challenge=${challenge}`;
    const echo = await fetch(address, { method: 'POST' });
    if ((await echo.text()) !== challenge) return void response.writeHead(400).end();
    const expiresAt = this.now().getTime() + this.lifeMs;
    const made = { ...asked, id: newId(), expiresAt };
    this.subscriptions.set(made.id, made);
    await this.onSubscribed(made);
    response.end(JSON.stringify(made));
  }

  #targetOf(address: string): string {
    const { pathname, search } = new URL(address);
    return `${this.target || new URL(address).origin}${pathname}${search}`;
  }
}

/** The push port of the made-up provider. */
class MadeUpPush implements PushPort {
  constructor(private readonly provider: PushProvider) {}

  resources(
    _: ProviderAccount,
    calendars: readonly string[],
    { address }: { address: string | null },
  ): PushResource[] {
    if (address === null) return [];
    const contacts: PushResource[] = this.provider.hasContacts ? ['contacts'] : [];
    return ['mail', ...contacts, ...calendars.map((id): PushResource => `calendar:${id}`)];
  }

  async subscribe(
    { email }: ProviderAccount,
    asked: Parameters<PushPort['subscribe']>[1],
  ): ReturnType<PushPort['subscribe']> {
    const { resource, address, secret } = asked;
    return this.#ask('POST', '', { email, resource, address, secret });
  }

  renew(_: ProviderAccount, { id }: { id: string | null }): ReturnType<PushPort['subscribe']> {
    return this.#ask('PATCH', `/${id}`);
  }

  async unsubscribe(_: ProviderAccount, { id }: { id: string | null }): Promise<void> {
    await this.#ask('DELETE', `/${id}`);
  }

  receive({ query, body }: PushRequest, integration: PushIntegration | null): Promise<PushReceipt> {
    const { challenge } = query;
    if (challenge !== undefined)
      return Promise.resolve({ signals: [], answer: { status: 200, body: challenge } });
    const signals = signalsOf(body, integration);
    const answer: PushAnswer = signals ? { status: 202 } : { status: 400 };
    return Promise.resolve({ signals: signals ?? [], answer, unknown: { status: 410 } });
  }

  isPulled({ settings }: PushIntegration): boolean {
    return settings['pull'] === true;
  }

  pull(): ReturnType<NonNullable<PushPort['pull']>> {
    const sent = [...this.provider.queue];
    const signals = sent.map(({ subscription, secret }): PushSignal => ({
      event: 'changed',
      subscription,
      proof: { secret },
    }));
    const acknowledge = () => Promise.resolve(void this.provider.queue.splice(0, sent.length));
    return Promise.resolve({ signals, acknowledge });
  }

  async #ask(method: string, path: string, body?: object) {
    const response = await fetch(`${this.provider.origin}/subscriptions${path}`, {
      method,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (response.status === 404) throw new ProviderError('not-found', 'no such subscription');
    if (response.status === 501) throw new ProviderError('unsupported', 'not for this resource');
    if (!response.ok) throw new ProviderError('temporary', `status ${response.status}`);
    const { id, expiresAt } = (await response.json()) as RemoteSubscription;
    return { id, expiresAt: new Date(expiresAt) };
  }
}

/**
 * Signals of a notification. To an integration's address the provider also notifies mailboxes.
 * @returns `null` if the body is not a notification
 */
function signalsOf(body: Buffer, integration: PushIntegration | null): PushSignal[] | null {
  try {
    const { notifications: sent } = notifications.parse(JSON.parse(body.toString()));
    return sent.map(({ subscription, secret, event }): PushSignal => {
      const isMailbox = integration !== null && subscription.includes('@');
      return isMailbox && secret === integration.settings['client_secret']
        ? { event, mailbox: subscription, resource: 'mail', proof: 'verified' }
        : { event, subscription, proof: { secret } };
    });
  } catch {
    return null;
  }
}

function messageOf(subject: string): RemoteMessage {
  const mime = [
    `Message-ID: <${encodeURIComponent(subject)}@push.test>`,
    `Subject: ${subject}`,
    'From: a@x.test',
    '',
    'Hello',
  ].join('\r\n');
  return {
    providerId: `in/${subject}`,
    folderIds: ['in'],
    receivedAt: new Date(),
    unread: true,
    starred: false,
    content: { kind: 'mime', mime: Buffer.from(mime) },
  } as RemoteMessage;
}

const contentOf = (title: string) => ({
  ...BLANK,
  title,
  when: {
    object: 'timespan',
    start_time: 1_900_000_000,
    end_time: 1_900_003_600,
    start_timezone: 'Europe/Berlin',
    end_timezone: 'Europe/Berlin',
  },
});
