import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '../lib/api-client.ts';

/** A webhook delivery about jobs, as received. */
export interface Delivery {
  signature: string;
  raw: Buffer;
  deltas: Json[];
}

/** Plays the customer's program: a web server that receives webhooks and reminders. */
export class Receiver {
  /** Deliveries to /webhooks. */
  readonly deliveries: Delivery[] = [];
  /** Payloads sent to /reminders. */
  readonly reminders: string[] = [];
  /** Number of challenges answered. */
  challenges = 0;
  url = '';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://receiver');
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const raw = Buffer.concat(chunks);
        const challenge = searchParams.get('challenge');
        if (request.method === 'GET' && challenge !== null) {
          this.challenges += 1;
          response.end(challenge);
          return;
        }
        if (pathname === '/webhooks')
          this.#keepDelivery(raw, String(request.headers['x-nylas-signature'] ?? ''));
        if (pathname === '/reminders') this.reminders.push(raw.toString());
        response.end();
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #keepDelivery(raw: Buffer, signature: string): void {
    const { deltas } = JSON.parse(raw.toString()) as { deltas?: Json[] };
    this.deliveries.push({ raw, signature, deltas: deltas ?? [] });
  }
}

/**
 * Whether a delivery comes from this Carillon: its signature is the HMAC-SHA256 of the raw body, in
 * hex, made with the client secret.
 */
export function isSigned(delivery: Delivery, clientSecret: string): boolean {
  const expected = createHmac('sha256', clientSecret).update(delivery.raw).digest('hex');
  const given = Buffer.from(delivery.signature);
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
}
