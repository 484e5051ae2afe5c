import { randomUUID } from 'node:crypto';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type { OutgoingMessage, SendControl } from '../../src/providers/port/connector.ts';
import { ProviderError, type SendPhase } from '../../src/platform/base/errors/provider-error.ts';
import { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import type { SmtpLimits, SmtpServer } from '../../src/providers/smtp/smtp-settings.ts';
import { ScriptedSmtp, type SmtpScript } from './scripted-smtp.ts';

/** Addresses of this machine, for the operator's allow-list. */
export const LOOPBACK = ['127.0.0.0/8', '::1'];
/**
 * Limits short enough for tests that wait for one of them, and long enough that no other limit ends
 * first on a busy machine.
 */
export const SHORT: Partial<SmtpLimits> = {
  connectMs: 1_500,
  commandMs: 1_500,
  contentMs: 10_000,
  confirmationMs: 1_500,
};
export const ALL_PHASES: readonly SendPhase[] = [
  'connect',
  'login',
  'envelope',
  'content',
  'confirmation',
];

/** Servers and senders of one spec. */
export class SmtpFixture {
  readonly #open: { stop(): Promise<void> }[] = [];

  /** Stops all servers and senders. Call it after each test. */
  async stop(): Promise<void> {
    for (const thing of this.#open.splice(0).toReversed()) await thing.stop();
  }

  async serve(script: SmtpScript = {}): Promise<ScriptedSmtp> {
    const server = await ScriptedSmtp.start(script);
    this.#open.push(server);
    return server;
  }

  sender(limits: Partial<SmtpLimits> = {}, allow: readonly string[] = LOOPBACK): SmtpSender {
    const sender = new SmtpSender(new EgressPolicy(allow), limits);
    this.#open.push({ stop: () => sender.close() });
    return sender;
  }
}

/** Settings for a server on this machine. */
export function at({ port }: { port: number }, more: Partial<SmtpServer> = {}): SmtpServer {
  return { host: '127.0.0.1', port, security: 'none', login: null, ...more };
}

/** A small message. */
export function smallMessage(
  recipients: readonly string[] = ['to@there.test'],
  { body = 'Good day.', from = 'me@here.test' } = {},
): OutgoingMessage {
  const messageIdHeader = `<${randomUUID()}@here.test>`;
  const mime = Buffer.from(`Message-ID: ${messageIdHeader}\r\nSubject: Test\r\n\r\n${body}\r\n`);
  return { messageIdHeader, mime, envelope: { from, recipients }, bcc: [] };
}

/** Control of one send that keeps the reported phases. @param onPhase may throw, or abort */
export function controlOf(
  onPhase: (phase: SendPhase, abort: () => void) => void = () => undefined,
) {
  const abort = new AbortController();
  const phases: SendPhase[] = [];
  const control: SendControl = {
    signal: abort.signal,
    onPhase(phase) {
      phases.push(phase);
      onPhase(phase, () => abort.abort());
    },
  };
  return { control, phases, abort: () => abort.abort() };
}

/**
 * The error with which a call fails.
 * @throws if the call succeeds, or fails with another kind of error
 */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw error;
  return error;
}
