import net from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { createApp } from '../../src/app/app.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { type ChangeRecord, recordChanges } from '../../src/platform/changes/change-log.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createApplication, type TestApplication } from './factories.ts';
import { agreeable, type ReceivedRequest, Receiver, type ReceiverBehaviour } from './receiver.ts';
import { createWebhook } from './webhook-fixture.ts';

/** An event as an endpoint got it. */
interface Delta {
  event_id: string;
  sequence: number;
  previous_sequence: number | null;
  object_data: { account_id: string; id: string };
}

/** What an endpoint has received since it works. */
export class Inbox {
  /** Objects of the events that arrived. */
  readonly objects = new Set<string>();
  requests = 0;
  /** Events that arrived behind a later one of their account. */
  disordered = 0;
  /** Events whose `previous_sequence` was not the last number received. */
  gaps = 0;
  /** Events that had arrived before. */
  repeated = 0;
  /** Milliseconds from the commit of each event to its first arrival. */
  lateness: number[] = [];
  readonly #ids = new Set<string>();
  readonly #last = new Map<string, number>();

  /** @param committedAt when the event of an object was committed, in milliseconds */
  constructor(private readonly committedAt: (objectId: string) => number | undefined) {}

  take({ body, headers }: ReceivedRequest): void {
    const { deltas } = JSON.parse(body.toString()) as { deltas: Delta[] };
    const id = String(headers['webhook-id']);
    this.requests += 1;
    if (this.#ids.has(id)) this.repeated += deltas.length;
    else for (const delta of deltas) this.#note(delta);
    this.#ids.add(id);
  }

  #note({ sequence, previous_sequence: previous, object_data: { account_id, id } }: Delta): void {
    // A batch that was received but not confirmed may be cut, and its parts have other ids.
    if (this.objects.has(id)) {
      this.repeated += 1;
      return;
    }
    const before = this.#last.get(account_id);
    if (before !== undefined && sequence <= before) this.disordered += 1;
    if ((before ?? null) !== previous) this.gaps += 1;
    this.#last.set(account_id, Math.max(before ?? 0, sequence));
    this.objects.add(id);
    const committedAt = this.committedAt(id);
    if (committedAt !== undefined) this.lateness.push(performance.now() - committedAt);
  }
}

/** Ways in which an endpoint breaks. */
const BROKEN: Readonly<Record<string, ReceiverBehaviour | 'no TLS' | 'refuses'>> = {
  hangs: () => undefined,
  drips: (response) => {
    response.writeHead(200, { 'content-length': '1000000' });
    const timer = setInterval(() => response.write('.'), 500);
    response.once('close', () => clearInterval(timer));
  },
  'answers 500': (response) => response.writeHead(500).end('broken'),
  'answers 503': (response) => response.writeHead(503, { 'retry-after': '5' }).end(),
  resets: (_response, _request, socket) => socket.resetAndDestroy(),
  'answers 410': (response) => response.writeHead(410).end(),
  'has no TLS': 'no TLS',
  'refuses connections': 'refuses',
};

/** One subscription and the server behind it. */
export interface Endpoint {
  name: string;
  webhookId: string;
  receiver: Receiver;
  inbox: Inbox;
  broken: boolean;
}

/**
 * An application whose webhooks all get the same events, some of them at endpoints that break in
 * different ways until they are mended.
 */
export class WebhookStorm {
  readonly endpoints: Endpoint[] = [];
  readonly #accounts: string[];
  readonly #stored = new Set<string>();
  readonly #committedAt = new Map<string, number>();

  private constructor(
    private readonly app: INestApplicationContext,
    readonly application: TestApplication,
    accounts: number,
  ) {
    this.#accounts = Array.from({ length: accounts }, newId);
  }

  /** @param environment that of the worker processes */
  static async start(
    environment: Readonly<Record<string, string>>,
    { endpoints, accounts }: { endpoints: number; accounts: number },
  ): Promise<WebhookStorm> {
    const app = await createApp(loadConfig({ ...environment, ROLES: 'api', LOG_LEVEL: 'silent' }));
    await app.init();
    const storm = new WebhookStorm(app, await createApplication(app), accounts);
    const ways = Object.entries(BROKEN);
    for (let index = 0; index < endpoints; index += 1) await storm.#add(ways[index], index);
    return storm;
  }

  async #add(way: [string, (typeof BROKEN)[string]] | undefined, index: number): Promise<void> {
    const [name, behaviour] = way ?? [`healthy ${index}`, agreeable];
    const receiver = await Receiver.start();
    if (typeof behaviour === 'function') receiver.behave = behaviour;
    const url =
      behaviour === 'no TLS'
        ? receiver.origin.replace('http:', 'https:')
        : behaviour === 'refuses'
          ? `http://127.0.0.1:${await closedPort()}`
          : receiver.origin;
    const webhookId = await createWebhook(this.app, this.application, url);
    const endpoint = { name, webhookId, receiver, inbox: this.#inbox(), broken: way !== undefined };
    receiver.onRequest = async (received) => {
      if (received.method === 'POST') endpoint.inbox.take(received);
      receiver.received.length = 0;
    };
    this.endpoints.push(endpoint);
  }

  #inbox(): Inbox {
    return new Inbox((objectId) => this.#committedAt.get(objectId));
  }

  /** Records events in transactions of different length, several at the same time. */
  async record(events: number, perTransaction: number): Promise<void> {
    let left = events;
    const write = async () => {
      while (left > 0) {
        const count = Math.min(left, 1 + Math.floor(Math.random() * perTransaction * 2));
        left -= count;
        await this.#store(count);
      }
    };
    await Promise.all([write(), write(), write(), write()]);
  }

  /** Records one event after another at an even pace, each in a transaction of its own. */
  async recordEvenly(perSecond: number, forMs: number): Promise<void> {
    const begun = performance.now();
    const writing: Promise<void>[] = [];
    for (let passed = 0; passed < forMs; passed = performance.now() - begun) {
      while (writing.length < (passed / 1000) * perSecond) writing.push(this.#store(1));
      await delay(5);
    }
    await Promise.all(writing);
  }

  async #store(count: number): Promise<void> {
    const changes = Array.from({ length: count }, () => this.#change());
    await this.app.get(Database).transaction(async (sql) => {
      await recordChanges(sql, changes);
      // Right before the commit: an event may arrive before this process knows of its commit.
      for (const { objectId } of changes) this.#committedAt.set(objectId, performance.now());
    });
    for (const { objectId } of changes) this.#stored.add(objectId);
  }

  #change(): ChangeRecord {
    const objectId = newId();
    const accountId = this.#accounts[Math.floor(Math.random() * this.#accounts.length)] ?? '';
    return {
      applicationId: this.application.id,
      accountId,
      object: 'job_status',
      objectId,
      event: 'modify',
      at: new Date(),
      webhook: { trigger: 'job.failed', dedupe: `storm:${objectId}` },
    };
  }

  /** Mends the broken endpoints, as their owner would. @param url that of a server of the API */
  async mend(url: string): Promise<void> {
    for (const endpoint of this.endpoints.filter(({ broken }) => broken)) {
      const { name, webhookId, receiver } = endpoint;
      endpoint.inbox = this.#inbox();
      receiver.behave = agreeable;
      // The program cannot change an address; these two receivers begin to listen there.
      await this.app
        .get(Database)
        .query('update webhook set callback_url = $2 where id = $1', [webhookId, receiver.origin]);
      if (name !== 'answers 410') continue;
      const response = await fetch(`${url}/a/${this.application.clientId}/webhooks/${webhookId}`, {
        method: 'PUT',
        headers: { ...this.application.secretBasic, 'content-type': 'application/json' },
        body: JSON.stringify({ state: 'active' }),
      });
      if (response.status !== 200) throw new Error(await response.text());
    }
  }

  /** How many events an endpoint has not received yet. */
  missing({ inbox: { objects } }: Endpoint): number {
    return this.#stored.size - objects.size;
  }

  async close(): Promise<void> {
    await Promise.all(this.endpoints.map(({ receiver }) => receiver.stop()));
    await this.app.close();
  }
}

/** A port at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
