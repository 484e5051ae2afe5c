import { ForbiddenError } from '../base/errors/domain-error.ts';

/** The operator has suspended the application: every request in its name is refused. */
export class ApplicationSuspendedError extends ForbiddenError {
  constructor() {
    super(
      'application.suspended',
      'This application is suspended: the operator of this server has to resume it. Nothing is lost until then.',
    );
  }
}
