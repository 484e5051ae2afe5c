import { Injectable, Logger } from '@nestjs/common';
import { SecretBox, UnsealError } from '../../platform/base/crypto/secret-box.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { AddressProof } from '../../providers/port/address-proof.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { AddressProofs } from './address-proofs.ts';
import { recordProof } from './address-proof-state.ts';
import { openGrantSettings } from './grant-secrets.ts';
import { mailboxOf } from './mailbox-match.ts';

/** Accounts taken in one go, and how many of their domains are asked at the same time. */
const MOST = 20;
const AT_ONCE = 4;
/** Waits after looks that found nothing, in minutes; after the last one nothing more is tried until the next sign-in. */
const WAITS_MINUTES = [1, 5, 30, 180, 720, 1440] as const;

interface DueAccount {
  id: string;
  applicationId: string;
  provider: string;
  email: string;
  settingsSealed: string;
  failures: number;
}

// Whoever takes an account has ten minutes; if the process dies, another one takes the account then.
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
 * Looks for proofs of addresses that a sign-in has not proved (docs/account-ownership.md), and gives grants from before
 * there were mailbox keys theirs, a few accounts at a time.
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

  /** Looks at all accounts that are due. */
  async runAll(): Promise<void> {
    while ((await this.run()) === MOST);
  }

  /** Looks at the accounts that are due. @returns how many there were, at most 20 */
  async run(): Promise<number> {
    const due = await this.database.query<DueAccount>(TAKE);
    const rest = [...due];
    const work = async () => {
      for (let account = rest.pop(); account; account = rest.pop()) await this.#look(account);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return due.length;
  }

  /** Trouble with one account keeps no other from being looked at. */
  async #look(account: DueAccount): Promise<void> {
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

  /** @returns null: no key of this process opens them */
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
