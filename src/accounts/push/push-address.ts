import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';

/** Path of the route that providers notify. */
export const PUSH_PATH = 'push';

/** The addresses at which providers reach this server. */
@Injectable()
export class PushAddresses {
  constructor(@Inject(APP_CONFIG) private readonly config: AppConfig) {}

  /**
   * The address for notifications of a provider.
   * @param integrationId `null` if the account belongs to no integration
   * @returns `null` if this server has no public https address (`PUSH_URL`, `BASE_URL`)
   */
  of(provider: string, integrationId: string | null): string | null {
    const { pushUrl } = this.config;
    if (pushUrl === null) return null;
    return [pushUrl, PUSH_PATH, provider, ...(integrationId === null ? [] : [integrationId])].join(
      '/',
    );
  }
}
