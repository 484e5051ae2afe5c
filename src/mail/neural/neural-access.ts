import { Inject, Injectable } from '@nestjs/common';
import type { ApplicationFeature } from '../../platform/auth/plan.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ForbiddenError } from '../../platform/base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';

const FEATURE: ApplicationFeature = 'neural';

/**
 * Checks whether an account may use the neural endpoints. The operator must enable them for the
 * server and for the application.
 */
@Injectable()
export class NeuralAccess {
  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /** @throws {ForbiddenError} if the server or the application has not enabled them */
  require(account: AccountPrincipal): void {
    if (!this.config.neural)
      throw new ForbiddenError(
        'neural.off',
        'The neural endpoints are not enabled on this server (NEURAL=true).',
      );
    if (!account.features.includes(FEATURE))
      throw new ForbiddenError(
        'feature.neural',
        'The neural endpoints are not enabled for this application.',
      );
  }
}
