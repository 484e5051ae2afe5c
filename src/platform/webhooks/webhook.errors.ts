import { ConflictError, DomainError } from '../base/errors/domain-error.ts';

/** The receiver did not answer the challenge correctly. Nothing was stored. */
export class ChallengeFailedError extends DomainError {
  constructor(why: string, cause?: unknown) {
    super(
      'webhook.challenge-failed',
      'invalid',
      `callback_url did not pass the challenge: ${why}`,
      {
        cause,
      },
    );
  }
}

/** The application already has a webhook for this `callback_url`. */
export class WebhookExistsError extends ConflictError {
  constructor() {
    super('webhook.exists', 'callback_url is already used by another webhook of this application');
  }
}

/** The webhook has the most secrets that are valid at the same time. */
export class WebhookSecretsFullError extends ConflictError {
  /** @param most how many a webhook may have */
  constructor(most: number) {
    super(
      'webhook.secrets-full',
      `this webhook has ${most} valid secrets already, the most that it may have: delete one first`,
    );
  }
}
