import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../platform/base/time/clock.ts';
import { type EgressClient, toResponse } from '../../platform/egress/egress-client.ts';
import { EgressError } from '../../platform/egress/egress-error.ts';
import { jsonOf } from '../port/service-responses.ts';
import { jose } from './jose.ts';

/** Google changes its keys after days, and publishes a new one long before it uses it. */
const KEPT_MS = 3_600_000;
/** An unknown key makes us read the keys again at most this often. */
const COOLDOWN_MS = 300_000;
/** Pause after the keys could not be read. jose itself would ask again for each token. */
const PAUSE_MS = 30_000;
const DEADLINE_MS = 5_000;
const MOST_BYTES = 256 * 1024;
const CLOCK_TOLERANCE_SECONDS = 60;

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** Who must have signed in, and for which receiver. */
export interface ExpectedSender {
  /** The address that Pub/Sub posts to. */
  audience: string;
  /** Address of the service account. */
  email: string;
}

/** Checks the tokens (OpenID Connect, RS256) with which Pub/Sub pushes. */
export class GooglePushTokens {
  readonly #keysUrl: URL;
  #cachedKeys: JWTVerifyGetKey | undefined;
  /** Unix milliseconds. */
  #pausedUntil = 0;

  /**
   * @param issuer of the tokens
   * @param keysUrl address of Google's keys, which are cached
   */
  constructor(
    private readonly egress: Pick<EgressClient, 'get'>,
    private readonly clock: Clock,
    private readonly issuer: string,
    keysUrl: string,
  ) {
    this.#keysUrl = new URL(keysUrl);
  }

  get #keys(): JWTVerifyGetKey {
    return (this.#cachedKeys ??= jose().createRemoteJWKSet(this.#keysUrl, {
      cacheMaxAge: KEPT_MS,
      cooldownDuration: COOLDOWN_MS,
      [jose().customFetch]: (url) => this.#fetch(url),
    }));
  }

  /**
   * Checks a token of a delivery. Only a token with the right claims makes Google's keys be read.
   * @returns `unknown` if the keys cannot be read now
   */
  async check(token: string, expected: ExpectedSender): Promise<'valid' | 'refused' | 'unknown'> {
    try {
      if (!isFrom(jose().decodeJwt(token), expected)) return 'refused';
      const { payload } = await jose().jwtVerify(token, this.#keys, {
        algorithms: ['RS256'],
        issuer: this.issuer,
        audience: expected.audience,
        requiredClaims: ['exp', 'iat'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: this.clock.now(),
      });
      return isFrom(payload, expected) ? 'valid' : 'refused';
    } catch (error) {
      if (error instanceof EgressError) return 'unknown';
      const { JOSEError, JWKSInvalid, JWKSTimeout } = jose().errors;
      if (!(error instanceof JOSEError)) throw error;
      const ofKeys = [JOSEError.code, JWKSInvalid.code, JWKSTimeout.code];
      return ofKeys.includes(error.code) ? 'unknown' : 'refused';
    }
  }

  async #fetch(url: string): Promise<Response> {
    const now = this.clock.now().getTime();
    if (now < this.#pausedUntil) return new Response(null, { status: 503 });
    this.#pausedUntil = now + PAUSE_MS;
    const limits = { deadlineMs: DEADLINE_MS, maxBodyBytes: MOST_BYTES };
    const response = await this.egress.get(url, limits);
    const areKeys = response.status === 200 && keySet.safeParse(jsonOf(response.body)).success;
    if (areKeys) this.#pausedUntil = 0;
    return toResponse(response);
  }
}

const isFrom = (claims: JWTPayload, { audience, email }: ExpectedSender): boolean =>
  claims.aud === audience &&
  claims['email_verified'] === true &&
  typeof claims['email'] === 'string' &&
  claims['email'].toLowerCase() === email.toLowerCase();
