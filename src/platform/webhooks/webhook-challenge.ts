import { Injectable } from '@nestjs/common';
import { EgressClient } from '../egress/egress-client.ts';
import { EgressError } from '../egress/egress-error.ts';
import { randomBase36 } from '../base/ids/ids.ts';
import { ChallengeFailedError } from './webhook.errors.ts';

/** Verifies that the owner of a callback address wants Carillon's deliveries. */
@Injectable()
export class WebhookChallenge {
  constructor(private readonly egress: EgressClient) {}

  /**
   * Calls `GET callback_url?challenge=<random>` once; takes at most ten seconds. Do not call it
   * inside a transaction.
   * @throws {ChallengeFailedError} unless the response is 200 with exactly the challenge as body
   */
  async verify(callbackUrl: string): Promise<void> {
    const challenge = randomBase36(40);
    const url = new URL(callbackUrl);
    url.search =
      url.search === '' ? `?challenge=${challenge}` : `${url.search}&challenge=${challenge}`;
    const { status, body } = await this.egress.get(url.href).catch((error: unknown) => {
      throw error instanceof EgressError ? new ChallengeFailedError(error.message, error) : error;
    });
    if (status !== 200)
      throw new ChallengeFailedError(`the receiver answered ${status} instead of 200`);
    if (!body.equals(Buffer.from(challenge))) {
      throw new ChallengeFailedError('the response body is not exactly the challenge');
    }
  }
}
