import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { EgressClient } from '../../platform/egress/egress-client.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { RestClient } from '../rest/rest-client.ts';
import { jsonOf, shownText } from '../port/service-responses.ts';
import type { GoogleAddresses } from './google-api.ts';
import { toGoogleError } from './google-error.ts';
import { readServiceAccount } from './google.service-account.ts';
import { jose } from './jose.ts';

const SCOPE = 'https://www.googleapis.com/auth/pubsub';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_SECONDS = 3_600;
/** A token is replaced this long before its end. */
const MARGIN_MS = 120_000;
const MOST_TOKENS = 1_000;
/** Pub/Sub answers a pull when there are messages, or with none after a while. */
const PULL_MS = 30_000;
/** Most messages that Pub/Sub gives at once. */
const MOST_MESSAGES = 1_000;

const granted = z.object({ access_token: z.string(), expires_in: z.number() });
const refusal = z.object({ error: z.string(), error_description: z.string().catch('') });
const pulled = z.object({
  receivedMessages: z
    .array(z.object({ ackId: z.string(), message: z.object({ data: z.string().default('') }) }))
    .default([]),
});

/** A subscription and who may pull from it. */
export interface PubSubSource {
  /** `projects/{project}/subscriptions/{name}` */
  subscription: string;
  /** The key file of a service account, as JSON. */
  key: string;
}

/** Pulls messages from Google Cloud Pub/Sub as a service account. */
export class GooglePubSub {
  readonly #api: RestClient;
  readonly #signIn: RestClient;
  readonly #tokens = new Map<string, { text: string; untilMs: number }>();

  constructor(
    egress: EgressClient,
    private readonly clock: Clock,
    private readonly addresses: Pick<GoogleAddresses, 'token' | 'pubsub'>,
  ) {
    this.#api = new RestClient(egress, clock, { service: 'Pub/Sub', toError: toGoogleError });
    this.#signIn = new RestClient(egress, clock, {
      service: 'Google',
      toError(response, now) {
        const known = refusal.safeParse(jsonOf(response.body)).data;
        if (!known) return toGoogleError(response, now);
        const words = shownText(`${known.error} ${known.error_description}`);
        return new ProviderError('auth-invalid', `Google refuses the service account: ${words}`);
      },
    });
  }

  /**
   * Waits at most 30 seconds for messages.
   * @returns their data in base64
   * @throws {ProviderError}
   */
  async pull(
    source: PubSubSource,
    signal: AbortSignal,
  ): Promise<{ data: string[]; ackIds: string[] }> {
    try {
      const body = await this.#post(source, 'pull', { maxMessages: MOST_MESSAGES }, signal);
      const { receivedMessages } = this.#api.parse(body, pulled);
      return {
        data: receivedMessages.map(({ message }) => message.data),
        ackIds: receivedMessages.map(({ ackId }) => ackId),
      };
    } catch (error) {
      if (isTimeout(error)) return { data: [], ackIds: [] };
      throw error;
    }
  }

  /**
   * Makes Pub/Sub forget messages. The others come again.
   * @throws {ProviderError}
   */
  async acknowledge(source: PubSubSource, ackIds: readonly string[]): Promise<void> {
    if (ackIds.length > 0) await this.#post(source, 'acknowledge', { ackIds });
  }

  async #post(
    source: PubSubSource,
    action: string,
    json: object,
    signal?: AbortSignal,
  ): Promise<Buffer> {
    const { id, text } = await this.#token(source.key);
    const path = source.subscription.split('/').map(encodeURIComponent).join('/');
    const url = `${this.addresses.pubsub}/v1/${path}:${action}`;
    const limits = { deadlineMs: PULL_MS, ...(signal ? { signal } : {}) };
    const request = { method: 'POST', url, json, repeatable: true, ...limits } as const;
    try {
      return (await this.#api.send(text, request)).body;
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'auth-invalid') this.#tokens.delete(id);
      throw error;
    }
  }

  async #token(key: string): Promise<{ id: string; text: string }> {
    const id = createHash('sha256').update(key).digest('base64');
    const nowMs = this.clock.now().getTime();
    const kept = this.#tokens.get(id);
    if (kept && kept.untilMs > nowMs) return { id, text: kept.text };
    const form = new URLSearchParams({
      grant_type: JWT_BEARER,
      assertion: await this.#assertion(key),
    });
    const { access_token: text, expires_in } = await this.#signIn.read(
      undefined,
      {
        method: 'POST',
        url: this.addresses.token,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(form.toString()),
        repeatable: true,
      },
      granted,
    );
    if (this.#tokens.size >= MOST_TOKENS) this.#tokens.clear();
    this.#tokens.set(id, { text, untilMs: nowMs + expires_in * 1000 - MARGIN_MS });
    return { id, text };
  }

  #assertion(key: string): Promise<string> {
    const { issuer, keyId, privateKey } = openKey(key);
    const iat = Math.floor(this.clock.now().getTime() / 1000);
    return new (jose().SignJWT)({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId ? { kid: keyId } : {}) })
      .setIssuer(issuer)
      .setAudience(this.addresses.token)
      .setIssuedAt(iat)
      .setExpirationTime(iat + ASSERTION_SECONDS)
      .sign(privateKey);
  }
}

function openKey(key: string): {
  issuer: string;
  keyId?: string | undefined;
  privateKey: KeyObject;
} {
  try {
    const { client_email: issuer, private_key, private_key_id: keyId } = readServiceAccount(key);
    return { issuer, keyId, privateKey: createPrivateKey(private_key) };
  } catch (error) {
    const words = error instanceof DomainError ? error.message : 'its private key cannot be read';
    throw new ProviderError('auth-invalid', `The service account cannot be used: ${words}`, {
      cause: error,
    });
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof ProviderError &&
  error.cause instanceof EgressError &&
  error.cause.kind === 'timeout';
