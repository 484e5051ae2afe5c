import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import type { OutgoingMessage } from '../../src/providers/port/connector.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { SendGridRelay } from '../../src/providers/sendgrid/sendgrid.relay.ts';
import { compose } from '../../src/formats/mime/compose.ts';
import { SendGridServer } from './sendgrid-server.ts';
import { TestClock } from './test-clock.ts';

/** Sender of every message. Its domain is verified at the service unless a test changes that. */
export const ADA = { email: 'ada@example.test', name: 'Ada' };

/** A SendGrid stand-in and the clients that call it. */
export class SendGridFixture {
  readonly clock = new TestClock();
  readonly threads = new WorkThreads();
  readonly #egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
  readonly relay = new SendGridRelay(this.#egress, this.clock, this.threads);
  /** A client with short timeouts, for services that never answer. */
  readonly impatient = new SendGridRelay(this.#egress, this.clock, this.threads, {
    sendMs: 3000,
    askMs: 300,
  });
  #service: SendGridServer | undefined;

  /** @throws Error before `start` */
  get service(): SendGridServer {
    if (!this.#service) throw new Error('the service is not started');
    return this.#service;
  }

  /** A correct key, and the address of the service. */
  get settings(): Record<string, unknown> {
    return { api_key: this.service.key, base_url: this.service.origin };
  }

  async start(): Promise<void> {
    this.#service = await SendGridServer.start();
  }

  async stop(): Promise<void> {
    await this.#egress.onApplicationShutdown();
    await this.#service?.stop();
    await this.threads.close();
  }
}

/** A fixture for the calling suite, reset before each test. */
export function useSendGrid(): SendGridFixture {
  const fixture = new SendGridFixture();
  beforeAll(() => fixture.start());
  afterAll(() => fixture.stop());
  beforeEach(() => {
    fixture.service.reset();
    fixture.service.domains.push({ domain: 'example.test', valid: true });
  });
  return fixture;
}

/**
 * A message from Ada.
 * @param recipients of the envelope, and of the header unless `change` says otherwise
 */
export async function relayMessage(
  recipients: string[],
  change: Partial<Parameters<typeof compose>[0]> = {},
): Promise<OutgoingMessage> {
  const messageIdHeader = '<m1@carillon.test>';
  const mime = await compose({
    from: ADA,
    to: recipients.map((email) => ({ email, name: '' })),
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hello',
    html: '<p>Hello</p>',
    messageIdHeader,
    date: new Date(),
    ...change,
  });
  return { messageIdHeader, mime, envelope: { from: ADA.email, recipients }, bcc: [] };
}

/**
 * The error with which the work failed.
 * @throws Error if the work succeeded or failed with another kind of error
 */
export async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await work.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw error;
  return error;
}
