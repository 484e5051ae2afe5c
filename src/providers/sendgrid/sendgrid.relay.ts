import type { ZodType } from 'zod';
import type { EgressResponse, EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { task } from '../../platform/threads/task.ts';
import { WorkLimitError } from '../../platform/threads/work-errors.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import { countOutgoing } from '../../platform/metrics/count-outgoing.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { OutgoingMessage, SendControl } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { RelaySettings, RelayTransport, SenderStatus } from '../port/mail/relay.ts';
import { authorization, SendGridApi } from './sendgrid.api.ts';
import { SendGridError, toSendError } from './sendgrid.errors.ts';
import { type Mailing, MESSAGE_ID_ARGUMENT } from './sendgrid.payload.ts';
import { asSendGridSettings, sendGridSettings } from './sendgrid.settings.ts';

/** Time limits of requests to SendGrid, in milliseconds. */
export interface SendGridTimeouts {
  /** For sending, including the upload. Default 60000. */
  sendMs: number;
  /** For all other requests. Default 10000. */
  askMs: number;
}

const DEFAULTS: SendGridTimeouts = { sendMs: 60_000, askMs: 10_000 };
/**
 * SendGrid's documentation: "The total size of your email, including attachments, must be less than
 * 30MB."
 */
const MOST_BYTES = 30 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const MB = 2 ** 20;
const MAILING = task<typeof import('./sendgrid.payload.ts')>()(
  import.meta.url,
  './sendgrid.payload',
  'toMailing',
  { lane: 'short', timeMs: 4_000, timeMsPerMb: 250, inputBytes: 64 * MB, outputBytes: 96 * MB },
);

/** SendGrid, or another server with its v3 API at `base_url`. */
export class SendGridRelay implements RelayTransport {
  readonly kind = 'sendgrid';
  readonly settingsSchema: ZodType<Record<string, unknown>>;
  readonly secretSettings = ['api_key'];
  readonly #api: SendGridApi;
  readonly #sendMs: number;

  constructor(
    private readonly egress: EgressClient,
    private readonly clock: Clock,
    private readonly threads: WorkThreads,
    timeouts: Partial<SendGridTimeouts> = {},
  ) {
    const { sendMs, askMs } = { ...DEFAULTS, ...timeouts };
    this.settingsSchema = sendGridSettings(egress);
    this.#api = new SendGridApi(egress, clock, askMs);
    this.#sendMs = sendMs;
  }

  async verify(settings: RelaySettings) {
    const scopes = await this.#api.scopes(asSendGridSettings(settings));
    if (!scopes.includes('mail.send')) {
      throw new ProviderError(
        'auth-invalid',
        'the API key is not allowed to send mail: it lacks the scope mail.send',
      );
    }
  }

  async send(settings: RelaySettings, message: OutgoingMessage, control: SendControl) {
    const { content: body, recipients, deferred } = await this.#mailingOf(message);
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (content.length >= MOST_BYTES) {
      throw new ProviderError(
        'rejected',
        'the message is larger than 30 MB, the maximum of SendGrid',
      );
    }
    const { answer, left } = await this.#post(settings, content, control);
    if (answer.status !== 202) throw toSendError(answer, this.clock.now(), left);
    const id = answer.headers['x-message-id'];
    const response =
      typeof id === 'string' ? `202 accepted, X-Message-Id ${id.slice(0, 100)}` : '202 accepted';
    return { accepted: recipients, refused: [], deferred, response };
  }

  /**
   * @throws {ProviderError} `temporary` if the worker threads have no capacity now; `rejected` if
   *   parsing the message exceeds a limit
   */
  async #mailingOf({ messageIdHeader, mime, envelope }: OutgoingMessage): Promise<Mailing> {
    try {
      return await this.threads.run(MAILING, envelope.from, { messageIdHeader, mime, envelope });
    } catch (cause) {
      const isLater =
        cause instanceof WorkLimitError && (cause.limit === 'busy' || cause.limit === 'closed');
      throw new ProviderError(isLater ? 'temporary' : 'rejected', 'the message cannot be read', {
        cause,
      });
    }
  }

  /**
   * Searches the Email Activity feed of the account. The feed is a paid add-on and lags behind, so
   * a message that is missing there may still have been sent.
   */
  async findSent(settings: RelaySettings, messageIdHeader: string) {
    if (/["\\]/.test(messageIdHeader)) return { found: false, conclusive: false };
    try {
      const found = await this.#api.hasActivity(
        asSendGridSettings(settings),
        MESSAGE_ID_ARGUMENT,
        messageIdHeader,
      );
      return { found, conclusive: found };
    } catch (error) {
      // The account lacks the add-on, or the key is not allowed to use it.
      if (hasStatus(error, 400, 401, 403, 404)) return { found: false, conclusive: false };
      throw error;
    }
  }

  async enrol(settings: RelaySettings, sender: { email: string; name: string }) {
    const { status, known } = await this.#status(settings, sender.email);
    if (status.domainVerified || status.senderVerified || known) return status;
    try {
      const verified = await this.#api.createSender(asSendGridSettings(settings), sender);
      return { ...status, senderVerified: verified, detail: verified ? null : WAITING };
    } catch (error) {
      if (!hasStatus(error, 400, 403, 409)) throw error;
      return {
        ...status,
        detail: `SendGrid did not start to verify the address: ${error.message}`,
      };
    }
  }

  async senderStatus(settings: RelaySettings, email: string) {
    return (await this.#status(settings, email)).status;
  }

  async removeSender(settings: RelaySettings, email: string) {
    const sender = await this.#api.findSender(asSendGridSettings(settings), email);
    if (sender) await this.#api.deleteSender(asSendGridSettings(settings), sender.id);
  }

  async #status(
    settings: RelaySettings,
    email: string,
  ): Promise<{ status: SenderStatus; known: boolean }> {
    const domain = email.slice(email.lastIndexOf('@') + 1);
    const [domainVerified, sender] = await Promise.all([
      readable(this.#api.isDomainValid(asSendGridSettings(settings), domain)),
      readable(this.#api.findSender(asSendGridSettings(settings), email)),
    ]);
    const senderVerified = sender?.verified ?? false;
    let detail: string | null = null;
    if (!domainVerified && !senderVerified) {
      if (sender) detail = WAITING;
      else if (sender === undefined)
        detail = 'the API key is not allowed to read the verified senders';
      else detail = 'SendGrid has verified neither the address nor its domain';
    }
    return {
      status: { domainVerified: domainVerified ?? false, senderVerified, detail },
      known: sender !== null && sender !== undefined,
    };
  }

  /**
   * Posts a message and announces each phase.
   * @returns the response, and whether all of the content was sent before the response arrived
   */
  async #post(
    settings: RelaySettings,
    content: Buffer,
    control: SendControl,
  ): Promise<{ answer: EgressResponse; left: boolean }> {
    let left = false;
    const stopped: { by?: unknown } = {};
    const tell = (phase: 'content' | 'confirmation') => {
      try {
        control.onPhase(phase);
      } catch (error) {
        stopped.by = error;
        throw error;
      }
    };
    async function* chunks(): AsyncGenerator<Buffer> {
      if (control.signal.aborted) throw new Error('given up');
      tell('content');
      for (let at = 0; at < content.length; at += CHUNK_BYTES) {
        if (at + CHUNK_BYTES >= content.length) {
          tell('confirmation');
          left = true;
        }
        yield content.subarray(at, at + CHUNK_BYTES);
      }
    }
    control.onPhase('connect');
    if (control.signal.aborted) throw givenUp();
    try {
      const headers = {
        ...authorization(asSendGridSettings(settings)),
        'content-type': 'application/json',
        'content-length': String(content.length),
      };
      const url = `${asSendGridSettings(settings).base_url}/v3/mail/send`;
      const request = { method: 'POST', headers, body: chunks() } as const;
      const limits = { deadlineMs: this.#sendMs, signal: control.signal };
      const answer = await countOutgoing('SendGrid', () =>
        this.egress.request(url, request, limits),
      );
      return { answer, left };
    } catch (error) {
      if ('by' in stopped) throw stopped.by;
      throw lost(error, left, control.signal);
    }
  }
}

const WAITING = 'waiting for the user to follow the link that SendGrid mailed to the address';

function givenUp(cause?: unknown): ProviderError {
  return new ProviderError('temporary', 'aborted before the message was sent', {
    phase: 'connect',
    cause,
  });
}

/**
 * The error if no response arrived. A server does not act on an incomplete request; once the
 * request was sent completely, the outcome is unknown.
 */
function lost(error: unknown, left: boolean, signal: AbortSignal): unknown {
  if (left) {
    return new ProviderError(
      'outcome-unknown',
      `SendGrid did not confirm the message: ${messageOf(error)}`,
      {
        phase: 'confirmation',
        cause: error,
      },
    );
  }
  if (signal.aborted) return givenUp(error);
  if (!(error instanceof EgressError)) return error;
  return new ProviderError('temporary', error.message, { phase: 'connect', cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hasStatus(error: unknown, ...statuses: readonly number[]): error is SendGridError {
  return error instanceof SendGridError && statuses.includes(error.status);
}

/** @returns `undefined` if the key is not allowed to read this */
async function readable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasStatus(error, 403)) return undefined;
    throw error;
  }
}
