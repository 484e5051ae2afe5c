import { Inject, Injectable } from '@nestjs/common';
import type { ApplicationFeature } from '../../platform/auth/plan.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ForbiddenError } from '../../platform/base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';

const FEATURE: ApplicationFeature = 'neural';

/** Whether somebody may have mail looked at by machines: the operator says so twice, for the server and the application. */
@Injectable()
export class NeuralAccess {
  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /** @throws {ForbiddenError} when either of the two is off */
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
