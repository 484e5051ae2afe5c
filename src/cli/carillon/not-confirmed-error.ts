import { OperatorError } from '../../platform/base/errors/operator-error.ts';

/** The operator has not confirmed, so nothing was changed. */
export class NotConfirmedError extends OperatorError {
  constructor(message: string) {
    super('refused', message);
  }
}
