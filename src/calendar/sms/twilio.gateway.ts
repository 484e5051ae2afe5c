import { z } from 'zod';
import type {
  EgressResponse,
  EgressClient,
  EgressRequest,
} from '../../platform/egress/egress-client.ts';
import { EgressError, type EgressErrorKind } from '../../platform/egress/egress-error.ts';
import { secondsToWait } from '../../platform/egress/retry-after.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { TwilioConfig } from '../../platform/config/sections/sms-config.ts';
import { SmsError, SmsGateway, type SmsRequest } from './sms-gateway.ts';
import { twilioError } from './twilio-errors.ts';

/** Transport errors that occur before anything is sent. */
const BEFORE_SENDING: readonly EgressErrorKind[] = ['blocked', 'dns', 'connect', 'tls'];
/** Most messages to one number that a look-up reads, newest first. */
const MOST_LISTED = 100;
const MOST_LIST_BYTES = 1024 * 1024;
/** Allowed difference between Twilio's clock and ours. */
const CLOCK_SLACK_MS = 60_000;
/** Twilio puts this text in front of every message of a trial account. */
const TRIAL_PREFIX = 'Sent from your Twilio trial account - ';

const errorBody = z.object({ code: z.number().int().nullish() });
const messageBody = z.object({ status: z.string(), error_code: z.number().int().nullish() });
const listBody = z.object({
  messages: z.array(
    z.object({
      body: z.string().nullable(),
      status: z.string().nullable(),
      date_created: z.string().nullable(),
    }),
  ),
});

/** States of messages that were never delivered; these do not count as sent. */
const DEAD: readonly (string | null)[] = ['failed', 'canceled', 'undelivered'];

/**
 * Twilio's Messages API. Twilio supports no idempotency key. So before a text with an unknown
 * outcome is sent again, this gateway looks for it among the messages to its number: the same text,
 * created after the reminder was due.
 */
export class TwilioSmsGateway extends SmsGateway {
  readonly #messages: string;
  readonly #authorization: string;

  constructor(
    private readonly config: TwilioConfig,
    private readonly egress: EgressClient,
    private readonly clock: Clock,
  ) {
    super();
    const { url, accountSid, username, password } = config;
    this.#messages = `${url}/2010-04-01/Accounts/${accountSid}/Messages.json`;
    this.#authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }

  async send({ to, text }: SmsRequest, signal: AbortSignal): Promise<void> {
    const { sender } = this.config;
    const form = new URLSearchParams({ To: to, Body: text });
    form.set(sender.startsWith('MG') ? 'MessagingServiceSid' : 'From', sender);
    const answer = await this.#ask(
      this.#messages,
      {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(form.toString()),
      },
      signal,
    );
    const created = parsed(answer, messageBody);
    // Twilio may accept a message and fail it at once, for example because of a rule of the
    // messaging service.
    if (created && DEAD.includes(created.status))
      throw twilioError(400, created.error_code ?? null, null);
  }

  override async wasSent(
    { to, text }: SmsRequest,
    since: Date,
    signal: AbortSignal,
  ): Promise<boolean> {
    const query = new URLSearchParams({ To: to, PageSize: String(MOST_LISTED) });
    const answer = await this.#ask(
      `${this.#messages}?${query.toString()}`,
      { method: 'GET' },
      signal,
    );
    const list = parsed(answer, listBody);
    if (!list)
      throw new SmsError(
        'the SMS gateway did not return a readable list of sent messages',
        'unknown',
      );
    const from = since.getTime() - CLOCK_SLACK_MS;
    return list.messages.some(
      ({ body, status, date_created: created }) =>
        (body === text || body === TRIAL_PREFIX + text) &&
        !DEAD.includes(status) &&
        created !== null &&
        Date.parse(created) >= from,
    );
  }

  async #ask(url: string, request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const headers = {
      ...request.headers,
      authorization: this.#authorization,
      accept: 'application/json',
    };
    const options = { signal, maxBodyBytes: MOST_LIST_BYTES };
    const answer = await this.egress
      .request(url, { ...request, headers }, options)
      .catch((error: unknown) => {
        if (!(error instanceof EgressError)) throw error;
        const failure = BEFORE_SENDING.includes(error.kind) ? 'not-yet' : 'unknown';
        throw new SmsError(`the SMS gateway cannot be reached: ${error.message}`, failure, null, {
          cause: error,
        });
      });
    const { status, retryAfter } = answer;
    if (status >= 200 && status < 300) return answer;
    const code = parsed(answer, errorBody)?.code ?? null;
    throw twilioError(status, code, secondsToWait(retryAfter, this.clock.now()));
  }
}

/** @returns `null` if the body does not have the expected form */
function parsed<T>({ body }: EgressResponse, schema: z.ZodType<T>): T | null {
  try {
    return schema.parse(JSON.parse(body.toString()));
  } catch {
    return null; // a proxy's error page or a truncated body; the status alone then decides
  }
}
