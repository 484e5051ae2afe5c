import { Injectable } from '@nestjs/common';
import { EgressClient } from '../egress/egress-client.ts';
import { EgressError } from '../egress/egress-error.ts';
import { randomBase36 } from '../base/ids/ids.ts';
import { ChallengeFailedError } from './webhook.errors.ts';

/** Asks the owner of an address whether it wants our deliveries (api facts 10.2). */
@Injectable()
export class WebhookChallenge {
  constructor(private readonly egress: EgressClient) {}

  /**
   * Calls `GET callback_url?challenge=<random>`, once; takes at most ten seconds. Never inside a transaction.
   * @throws {ChallengeFailedError} unless the answer is 200 with exactly the challenge as body
   */
  async verify(callbackUrl: string): Promise<void> {
    const challenge = randomBase36(40);
    const url = new URL(callbackUrl);
    url.search =
      url.search === '' ? `?challenge=${challenge}` : `${url.search}&challenge=${challenge}`;
    const { status, body } = await this.egress.get(url.href).catch((error: unknown) => {
      throw error instanceof EgressError ? new ChallengeFailedError(error.message, error) : error;
    });
    if (status !== 200) throw new ChallengeFailedError(`it answered ${status} instead of 200`);
    if (!body.equals(Buffer.from(challenge))) {
      throw new ChallengeFailedError('the body of its answer is not exactly the challenge');
    }
  }
}
