import type { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { secondsToWait } from '../../platform/egress/retry-after.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { HttpSmsConfig, JsonValue } from '../../platform/config/sections/sms-config.ts';
import { SmsError, SmsGateway, type SmsRequest } from './sms-gateway.ts';

/** HTTP statuses that are final: the gateway will never accept this text. */
const REFUSALS: readonly number[] = [400, 410, 413, 415, 422];

/**
 * A gateway that takes texts as JSON over HTTP. Every attempt carries the text's dedupe key: always
 * in the header `Idempotency-Key`, and in the body wherever the template has `{key}`. A gateway
 * that checks the key delivers the text once. Any other gateway may deliver it twice after a crash
 * or a lost response.
 */
export class HttpSmsGateway extends SmsGateway {
  constructor(
    private readonly config: HttpSmsConfig,
    private readonly egress: EgressClient,
    private readonly clock: Clock,
  ) {
    super();
  }

  async send({ to, text, dedupe }: SmsRequest, signal: AbortSignal): Promise<void> {
    const { url, method, headers, template } = this.config;
    const body = Buffer.from(JSON.stringify(filled(template, { to, text, key: dedupe })));
    const request = {
      method,
      headers: { 'content-type': 'application/json', ...headers, 'idempotency-key': dedupe },
      body,
    };
    const answer = await this.egress.request(url, request, { signal }).catch((error: unknown) => {
      if (!(error instanceof EgressError)) throw error;
      // Safe to send again, because the attempt carries the same key.
      throw new SmsError(`the SMS gateway cannot be reached: ${error.message}`, 'not-yet', null, {
        cause: error,
      });
    });
    const { status, retryAfter } = answer;
    if (status >= 200 && status < 300) return;
    const failure = REFUSALS.includes(status) ? 'refused' : 'not-yet';
    const wait = secondsToWait(retryAfter, this.clock.now());
    throw new SmsError(`the SMS gateway answered ${status}`, failure, wait);
  }
}

const PLACEHOLDER = /\{(to|text|key)\}/g;

/**
 * Replaces the placeholders in the strings of a template. Values are never parsed as a template or
 * as JSON.
 */
export function filled(
  template: JsonValue,
  values: Readonly<Record<'to' | 'text' | 'key', string>>,
): JsonValue {
  if (typeof template === 'string') {
    return template.replace(PLACEHOLDER, (_, name: 'to' | 'text' | 'key') => values[name]);
  }
  if (Array.isArray(template)) return template.map((part) => filled(part, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, part]) => [key, filled(part, values)]),
  );
}
