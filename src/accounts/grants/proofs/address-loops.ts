import { Inject, Injectable, Logger } from '@nestjs/common';
import { hashToken } from '../../../platform/base/crypto/token-hash.ts';
import { newId, randomBase36 } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database } from '../../../platform/database/sql.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { OperatorMail } from '../../operator-mail/operator-mail.ts';
import { loopMail } from './address-loop-mail.ts';
import { AddressLoopRepository, type LoopAccount } from './address-loop.repository.ts';
import { recordProof } from './address-proof-state.ts';

/** 25 base-36 characters are more than 128 bits. */
const CODE_LENGTH = 25;

/**
 * Proves addresses for which there is no other proof: sends a code to the address through the
 * operator's own mail server, and checks whether the mail arrives in the connected mailbox
 * (docs/account-ownership.md). Each mail is recorded before it is sent, so a crash sends one mail
 * too few rather than one too many.
 */
@Injectable()
export class AddressLoops {
  readonly #log = new Logger('AddressLoops');

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'baseUrl' | 'outbox'>,
    private readonly database: Database,
    private readonly repository: AddressLoopRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly mail: OperatorMail,
    private readonly clock: Clock,
  ) {}

  /**
   * Records the proofs of mails that have arrived, then sends mails for a few waiting accounts.
   * Does nothing if the operator has configured no mail server.
   */
  async run(): Promise<void> {
    if (!this.mail.isConfigured) return;
    await this.#takeReturned();
    const providers = this.connectors
      .all()
      .flatMap(({ name, receivesMail }) => (receivesMail ? [name] : []));
    for (const account of await this.repository.waiting(providers, this.clock.now())) {
      await this.#send(account);
    }
  }

  async #takeReturned(): Promise<void> {
    const returned = await this.repository.returned(
      this.config.outbox.mailDomain,
      this.clock.now(),
    );
    for (const { accountId: id, settingsSealed } of returned) {
      const found = { id, settingsSealed, proof: 'loop' } as const;
      await recordProof(this.database, found, this.clock.now());
    }
  }

  async #send(account: LoopAccount): Promise<void> {
    const id = newId();
    const code = randomBase36(CODE_LENGTH);
    const date = this.clock.now();
    if (!(await this.repository.begin(id, account, hashToken(code), date))) return;
    const messageIdHeader = `<address-check.${id}@${this.config.outbox.mailDomain}>`;
    const { email: to, applicationName: application } = account;
    const words = loopMail({ to, application, server: this.config.baseUrl, code });
    try {
      await this.mail.send({ to, ...words, messageIdHeader, date });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      this.#log.warn(
        `sending the address check for account ${account.accountId} failed: ${error.message}`,
      );
      // A mail that may have been sent counts towards the limits. A refused address is not retried
      // after ten minutes.
      const isOver = error.code === 'outcome-unknown' || error.code === 'rejected';
      if (!isOver) await this.repository.failed(id);
    }
  }
}
