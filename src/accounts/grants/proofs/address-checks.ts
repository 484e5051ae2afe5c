import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../../platform/base/crypto/secret-box.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { AddressProof } from '../../../providers/port/sign-in/address-proof.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import { AddressProofs } from './address-proofs.ts';
import { recordProof } from './address-proof-state.ts';
import { openGrantSettings } from '../credentials/grant-secrets.ts';
import { mailboxOf } from '../moves/mailbox-match.ts';
import type { Grant } from '../grant.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** Accounts taken per run, and how many of them are checked in parallel. */
const MOST = 20;
const AT_ONCE = 4;
/**
 * Delays after a check that found nothing, in minutes. After the last one the account is not
 * checked again until the next sign-in.
 */
const WAITS_MINUTES = [1, 5, 30, 180, 720, 1440] as const;

interface DueAccount extends RowOf<
  Grant,
  'id' | 'applicationId' | 'provider' | 'email' | 'settingsSealed'
> {
  failures: number;
}

// The process that takes an account has ten minutes. If the process dies, another process takes the
// account after that.
const TAKE = `
  update "grant" g set prove_at = now() + interval '10 minutes'
  from (select id from "grant" where prove_at <= now() and status = 'valid' order by prove_at limit ${MOST}
        for no key update skip locked) due
  where g.id = due.id
  returning g.id, g.application_id as "applicationId", g.provider, g.email, g.settings_sealed as "settingsSealed",
    g.prove_failures as failures`;

const KEEP_KEY = `
  update "grant" set mailbox = $3 where id = $1 and settings_sealed = $2 and mailbox is null`;

const POSTPONE = `
  update "grant" set prove_failures = least(prove_failures + 1, 1000), prove_at = $3
  where id = $1 and settings_sealed = $2 and proof is null`;

/**
 * Looks for proofs of addresses that a sign-in did not prove (docs/account-ownership.md), a few
 * accounts at a time. It also sets the mailbox key of grants that were created before mailbox keys
 * existed.
 */
@Injectable()
export class AddressChecks {
  readonly #log = new Logger('AddressChecks');

  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorRegistry,
    private readonly proofs: AddressProofs,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
  ) {}

  /** Checks all accounts that are due. */
  async runAll(): Promise<void> {
    while ((await this.run()) === MOST);
  }

  /**
   * Checks up to 20 accounts that are due.
   * @returns the number of accounts it took
   */
  async run(): Promise<number> {
    const due = await this.database.query<DueAccount>(TAKE);
    const rest = [...due];
    const work = async () => {
      for (let account = rest.pop(); account; account = rest.pop()) await this.#check(account);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return due.length;
  }

  /** Checks one account. An error with this account is logged and does not stop the others. */
  async #check(account: DueAccount): Promise<void> {
    const { id, settingsSealed, failures } = account;
    const proof = await this.#proofOf(account).catch((error: unknown) => {
      this.#log.error(error);
      return null;
    });
    if (proof) {
      await recordProof(this.database, { id, settingsSealed, proof }, this.clock.now());
      return;
    }
    const isProvable = this.connectors.require(account.provider).prove !== undefined;
    const minutes = isProvable ? WAITS_MINUTES[failures] : undefined;
    const at =
      minutes === undefined ? null : new Date(this.clock.now().getTime() + minutes * 60_000);
    await this.database.query(POSTPONE, [id, settingsSealed, at]);
  }

  async #proofOf(account: DueAccount): Promise<AddressProof | null> {
    const { id, applicationId, provider, email, settingsSealed } = account;
    const settings = this.#settingsOf(account);
    if (!settings) return null;
    const connector = this.connectors.require(provider);
    await this.database.query(KEEP_KEY, [
      id,
      settingsSealed,
      mailboxOf(connector, { email, settings }),
    ]);
    return this.proofs.later(connector, {
      applicationId,
      email,
      settings,
      claimedEmail: null,
      proof: null,
    });
  }

  /** @returns `null` if this process has no key that decrypts the settings */
  #settingsOf({ id, settingsSealed }: DueAccount): Record<string, unknown> | null {
    try {
      return openGrantSettings(this.secretBox, id, settingsSealed);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      this.#log.error(error);
      return null;
    }
  }
}
