import { createHash } from 'node:crypto';
import { z } from 'zod';
import type {
  EgressResponse,
  EgressClient,
  EgressMethod,
  EgressRequest,
} from '../../platform/egress/egress-client.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { askService, isLostByGateway, jsonOf } from '../port/service-responses.ts';
import { toProviderError, toTokenError } from './zoom.errors.ts';
import type { ZoomSettings } from './zoom.settings.ts';

/** Largest response, in bytes: enough for a page of 300 meetings. */
const MOST_BYTES = 2 * 1024 * 1024;
const TIMEOUT_MS = 15_000;
/** A token is replaced this long before it expires. */
const MARGIN_MS = 60_000;
/** Tokens kept in memory. Zoom issues a new one on request. */
const MOST_TOKENS = 1_000;

const tokenAnswer = z.object({
  access_token: z.string().min(1),
  expires_in: z.number().positive().catch(3600),
});

interface Token {
  value: string;
  expiresAtMs: number;
}

/**
 * Calls Zoom's API with tokens of a server-to-server OAuth app. The tokens are kept in memory only.
 */
export class ZoomApi {
  readonly #tokens = new Map<string, Promise<Token>>();

  constructor(
    private readonly egress: EgressClient,
    private readonly clock: Clock,
  ) {}

  /**
   * Requests a new token to check the credentials.
   * @throws {ProviderError} `auth-invalid`
   */
  async authenticate(settings: ZoomSettings): Promise<void> {
    this.#tokens.delete(keyOf(settings));
    await this.#token(settings);
  }

  /**
   * Returns the body of a successful response, or `undefined` if it is not JSON. A refused token is
   * replaced once.
   * @throws {ProviderError} `outcome-unknown` if a request other than GET may have taken effect
   */
  async call(
    settings: ZoomSettings,
    method: EgressMethod,
    path: string,
    body?: object,
  ): Promise<unknown> {
    let answer = await this.#ask(settings, method, path, body);
    if (answer.status === 401) {
      this.#tokens.delete(keyOf(settings));
      answer = await this.#ask(settings, method, path, body);
    }
    if (answer.status >= 200 && answer.status < 300) return jsonOf(answer.body);
    const error = toProviderError(answer, this.clock.now());
    if (method !== 'GET' && isLostByGateway(answer))
      throw new ProviderError('outcome-unknown', error.message);
    throw error;
  }

  async #ask(
    settings: ZoomSettings,
    method: EgressMethod,
    path: string,
    body?: object,
  ): Promise<EgressResponse> {
    const { value } = await this.#token(settings);
    const headers = {
      authorization: `Bearer ${value}`,
      accept: 'application/json',
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const lost = method === 'GET' ? 'temporary' : 'outcome-unknown';
    const sent = body
      ? { method, headers, body: Buffer.from(JSON.stringify(body)) }
      : { method, headers };
    return this.#send(settings.base_url + path, sent, lost);
  }

  /** Concurrent callers share one request for a token. */
  async #token(settings: ZoomSettings): Promise<Token> {
    const key = keyOf(settings);
    const kept = await this.#tokens.get(key)?.catch(() => undefined);
    if (kept && kept.expiresAtMs - MARGIN_MS > this.clock.now().getTime()) return kept;
    if (this.#tokens.size >= MOST_TOKENS) this.#tokens.clear();
    const asked = this.#requestToken(settings);
    this.#tokens.set(key, asked);
    try {
      return await asked;
    } catch (error) {
      this.#tokens.delete(key);
      throw error;
    }
  }

  async #requestToken({
    token_url,
    account_id,
    client_id,
    client_secret,
  }: ZoomSettings): Promise<Token> {
    const body = new URLSearchParams({ grant_type: 'account_credentials', account_id }).toString();
    const headers = {
      authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const now = this.clock.now();
    const answer = await this.#send(
      token_url,
      { method: 'POST', headers, body: Buffer.from(body) },
      'temporary',
    );
    if (answer.status !== 200) throw toTokenError(answer, now);
    const { success, data } = tokenAnswer.safeParse(jsonOf(answer.body));
    if (!success)
      throw new ProviderError('temporary', 'Zoom: the response contains no access token');
    return { value: data.access_token, expiresAtMs: now.getTime() + data.expires_in * 1000 };
  }

  #send(
    url: string,
    request: EgressRequest,
    lost: 'temporary' | 'outcome-unknown',
  ): Promise<EgressResponse> {
    return askService(this.egress, url, request, {
      service: 'Zoom',
      lost,
      deadlineMs: TIMEOUT_MS,
      maxBodyBytes: MOST_BYTES,
    });
  }
}

/** Key of a token in the cache: a digest, so that it contains no secret. */
function keyOf({ token_url, account_id, client_id, client_secret }: ZoomSettings): string {
  return createHash('sha256')
    .update([token_url, account_id, client_id, client_secret].join('\n'))
    .digest('base64');
}
