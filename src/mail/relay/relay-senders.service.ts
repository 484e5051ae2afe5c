import { Injectable } from '@nestjs/common';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import type { SenderStatus } from '../../providers/port/mail/relay.ts';
import { type OpenRelay, RelayAccess } from './relay-access.ts';
import { type AccountKey, RelayRepository } from './relay.repository.ts';

/** An account as its own token identifies it. */
export interface SenderAccount extends AccountKey {
  email: string;
}

/** What an account may ask of its application's mailing service about itself. */
@Injectable()
export class RelaySendersService {
  constructor(
    private readonly access: RelayAccess,
    private readonly relays: RelayRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Asks the service whether it takes mail from the account. Both flags are false without a
   * service. They are also false if the account's address is not proven; then the service is not
   * asked.
   * @throws {DomainError} if the service cannot be asked
   */
  async status(
    account: SenderAccount,
  ): Promise<Pick<SenderStatus, 'domainVerified' | 'senderVerified'>> {
    const relay = await this.#open(account);
    if (!relay?.proven) return { domainVerified: false, senderVerified: false };
    const status = await this.access
      .ask(relay, (transport, settings) => transport.senderStatus(settings, account.email))
      .catch((error: unknown) => explain(error, 'ask the mailing service'));
    await this.access.keep(relay, status);
    return status;
  }

  /**
   * Removes the account from the service. Its messages no longer use the service, until the account
   * is connected again or the service is set up again. Repeating the call is harmless. The service
   * is not asked about an unproven address, which may belong to another customer of the service.
   * @param email must be the account's own address
   * @throws {InvalidInputError} for another address
   * @throws {DomainError} if the service cannot be asked; our own record is removed in any case
   */
  async remove(account: SenderAccount, email: string): Promise<void> {
    if (email.toLowerCase() !== account.email) {
      throw new InvalidInputError('email: must be the address of the account');
    }
    const relay = await this.#open(account);
    if (!relay) return;
    await this.relays.markRemoved(relay, relay.settingsSealed, this.clock.now());
    if (!relay.proven) return;
    await this.access
      .ask(relay, (transport, settings) => transport.removeSender(settings, account.email))
      .catch((error: unknown) => explain(error, 'remove the address from the mailing service'));
  }

  #open(account: SenderAccount): Promise<OpenRelay | null> {
    return this.access
      .open(account)
      .catch((error: unknown) => explain(error, 'ask the mailing service'));
  }
}

function explain(error: unknown, what: string): never {
  throw error instanceof ProviderError ? providerFailure(error, what) : error;
}
