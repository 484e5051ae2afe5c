import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { PushPort, PushResource } from '../../providers/port/push-port.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import { PushAddresses } from './push-address.ts';
import { PushIntegrations } from './push-integrations.ts';
import {
  type KnownSubscription,
  PushSubscriptionRepository,
} from './push-subscriptions.repository.ts';

/** Parts of an account whose changes the provider reports until after the next poll. */
export interface PushCoverage {
  mail: boolean;
  calendars: boolean;
  /** Also true if the provider reports changes, but none of contacts. */
  contacts: boolean;
}

/** Keeps the rows of `push_subscription` in line with what each account has. */
@Injectable()
export class PushWants {
  constructor(
    private readonly repository: PushSubscriptionRepository,
    private readonly integrations: PushIntegrations,
    private readonly addresses: PushAddresses,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * Adds and ends subscriptions of an account, and has those replaced that were made with other
   * credentials or for another address. `PushUpkeep` does the work soon. Called after each sync
   * pass of the account.
   * @param calendars provider ids of the account's calendars
   */
  async settle(
    account: ConnectedAccount,
    port: PushPort,
    calendars: readonly string[],
  ): Promise<PushCoverage> {
    const now = this.clock.now();
    const { accountId, applicationId, provider } = account;
    const integration = await this.integrations.of(applicationId, provider);
    const address = this.addresses.of(provider, integration?.id ?? null);
    const wanted = new Set(port.resources(account, calendars, { integration, address }));
    const { pollWatchedSeconds, pollQuietFactor } = this.config.sync;
    const liveUntil = new Date(now.getTime() + pollWatchedSeconds * pollQuietFactor * 1000);
    const known = await this.repository.ofAccount(account, liveUntil, address);
    const present = new Set(known.flatMap((one) => (one.wanted ? [one.resource] : [])));
    const missing = [...wanted].filter((resource) => !present.has(resource));
    const added = missing.map((resource) => ({ id: newId(), resource }));
    if (added.length > 0) await this.repository.add({ accountId, provider }, added, now);
    const ids = (which: (one: KnownSubscription) => boolean) =>
      known.filter(which).map(({ id }) => id);
    const unwanted = ids((one) => one.wanted && !wanted.has(one.resource));
    if (unwanted.length > 0) await this.repository.unwant(unwanted, now);
    const stale = ids((one) => one.stale && wanted.has(one.resource));
    if (stale.length > 0) await this.repository.makeDue(stale, now);
    return coverageOf([...wanted], known);
  }
}

function coverageOf(
  wanted: readonly PushResource[],
  known: readonly KnownSubscription[],
): PushCoverage {
  const live = new Set(known.flatMap((one) => (one.live ? [one.resource] : [])));
  const unsupported = new Set(known.flatMap((one) => (one.unsupported ? [one.resource] : [])));
  const calendars = wanted.filter((resource) => resource.startsWith('calendar'));
  const contactsReported = wanted.includes('contacts') && !unsupported.has('contacts');
  return {
    mail: live.has('mail'),
    calendars:
      calendars.some((resource) => live.has(resource)) &&
      calendars.every((resource) => live.has(resource) || unsupported.has(resource)),
    contacts: contactsReported ? live.has('contacts') : live.size > 0,
  };
}
