import { Injectable } from '@nestjs/common';
import type { ProviderWriteHandler } from '../../accounts/provider-writes/provider-writes.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { DomainError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { refusalOf, windowOf } from '../../platform/quotas/quota.ts';
import { Quotas } from '../../platform/quotas/quotas.ts';
import { CONFERENCING_PROVIDERS } from '../../providers/port/conferencing-port.ts';
import { ConferencingDrivers } from '../../providers/port/conferencing-registry.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type {
  ConferencingRequest,
  EventMeetings,
  EventWriteHandler,
} from '../events/ports/event-meetings.ts';
import { ConferencingRepository } from './conferencing.repository.ts';
import { isCounted } from './meetings.repository.ts';
import { Meetings } from './meetings.ts';

/** The online meetings of events, for the module `events`. */
@Injectable()
export class MeetingsOfEvents implements EventMeetings {
  constructor(
    private readonly meetings: Meetings,
    private readonly repository: ConferencingRepository,
    private readonly drivers: ConferencingDrivers,
    private readonly connectors: ConnectorRegistry,
    private readonly quotas: Quotas,
    private readonly clock: Clock,
  ) {}

  writing(write: EventWriteHandler): ProviderWriteHandler {
    return this.meetings.writing(write);
  }

  deleting(write: ProviderWriteHandler): ProviderWriteHandler {
    return this.meetings.deleting(write);
  }

  async accept(
    { applicationId, accountId, provider: calendarProvider }: AccountPrincipal,
    request: ConferencingRequest | undefined,
    { isNew }: { isNew: boolean },
  ) {
    if (!request?.autocreate) return;
    const { provider, autocreate } = request;
    const stored = await this.repository.find(applicationId, provider);
    if (!stored) return this.#acceptNative(calendarProvider, provider, autocreate.settings);
    const parsed = this.drivers.require(stored.kind).meetingSchema.safeParse(autocreate.settings);
    if (parsed.success) {
      if (isNew && isCounted(stored.kind)) await this.#assertQuota(applicationId, accountId);
      return;
    }
    const [issue] = parsed.error.issues;
    const path = ['conferencing.autocreate.settings', ...(issue?.path ?? [])]
      .map(String)
      .join('.')
      .slice(0, 200);
    throw new InvalidInputError(`${path}: ${issue?.message ?? 'is wrong'}`.toWellFormed());
  }

  /** @throws {InvalidInputError} if the account's provider creates no such meetings */
  #acceptNative(
    calendarProvider: string,
    wanted: string,
    settings: Readonly<Record<string, unknown>>,
  ): void {
    const native = this.connectors.require(calendarProvider).calendar?.conferencing ?? [];
    if (native.some((one) => one === wanted)) {
      if (Object.keys(settings).length === 0) return;
      throw new InvalidInputError(
        `conferencing.autocreate.settings: must be {}, because the account's provider creates the ${wanted} meeting and takes no settings`,
      );
    }
    const known = (CONFERENCING_PROVIDERS as readonly string[]).includes(wanted);
    throw new InvalidInputError(
      known
        ? `conferencing.provider: no conferencing service is set up for ${wanted} in this application, and the account's provider creates no such meetings: send details instead of autocreate, or set the service up (PUT /a/{client_id}/conferencing)`
        : `conferencing.provider: must be one of ${CONFERENCING_PROVIDERS.join(', ')} with autocreate`,
    );
  }

  async #assertQuota(applicationId: string, accountId: string): Promise<void> {
    const full = await this.quotas.usedUp('meetings', accountId, applicationId);
    if (!full) return;
    const now = this.clock.now();
    throw new DomainError(
      'quota.meetings',
      'rate-limited',
      `conferencing.autocreate: ${refusalOf(full)}`,
      {
        limit: full.limit,
        retryAfterSeconds: Math.ceil((windowOf(now).end.getTime() - now.getTime()) / 1000),
      },
    );
  }
}
