import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { AddressProof } from '../../../providers/port/sign-in/address-proof.ts';
import type { Connector, MailboxSettings } from '../../../providers/port/connector.ts';
import { AddressUnprovenError } from '../grants.errors.ts';
import { mailboxOf } from '../moves/mailbox-match.ts';
import type { Integration } from '../../integrations/integration.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/** An account that its provider has accepted. */
export interface AcceptedAccount extends MailboxSettings {
  applicationId: string;
  /**
   * The address that the sign-in's authorization server reported; `null` if it reported none or the
   * sign-in did not use OAuth.
   */
  claimedEmail: string | null;
  /** The proof that the provider itself has given. */
  proof: AddressProof | null;
}

interface IntegrationRow extends RowOf<Integration, 'requireProvenAddress'> {
  settings: Readonly<Record<string, unknown>>;
}

const INTEGRATION = `
  select settings, require_proven_address as "requireProvenAddress" from integration
  where application_id = $1 and provider = $2`;

const IS_PROVEN = `
  select 1 from "grant"
  where application_id = $1 and provider = $2 and email = $3 and mailbox = $4 and proof is not null`;

/** Finds proofs that a mailbox belongs to its address (docs/account-ownership.md, ADR 0056). */
@Injectable()
export class AddressProofs {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
    private readonly database: Database,
  ) {}

  /**
   * The proof that is known at sign-in. The address's domain is queried only if the integration
   * requires a proof.
   * @returns `null` if nothing has proved the address so far
   * @throws {AddressUnprovenError} if the integration requires a proof and no proof is possible,
   *   not even by a mail
   */
  async atSignIn(connector: Connector, account: AcceptedAccount): Promise<AddressProof | null> {
    const integration = await this.#integration(connector, account);
    const known = account.proof ?? integrationProof(connector, account, integration);
    if (known || !integration?.requireProvenAddress) return known;
    const found = (await connector.prove?.(account)) ?? null;
    const canProveByMail = this.config.operatorMail !== null && connector.receivesMail === true;
    if (found || canProveByMail || (await this.#isProven(connector, account))) return found;
    throw new AddressUnprovenError(account.email);
  }

  /**
   * The proof for an account that had none at sign-in. Also queries the address's domain.
   * @returns `null` if nothing proves the address so far
   */
  async later(connector: Connector, account: AcceptedAccount): Promise<AddressProof | null> {
    const integration = await this.#integration(connector, account);
    return (
      integrationProof(connector, account, integration) ??
      (await connector.prove?.(account)) ??
      null
    );
  }

  async #integration(
    { name }: Connector,
    { applicationId }: AcceptedAccount,
  ): Promise<IntegrationRow | undefined> {
    const [row] = await this.database.query<IntegrationRow>(INTEGRATION, [applicationId, name]);
    return row;
  }

  /**
   * Whether this mailbox is already connected and proven. A check by mail proves a mailbox once for
   * all sign-ins.
   */
  async #isProven(connector: Connector, account: AcceptedAccount): Promise<boolean> {
    const { applicationId, email } = account;
    const key = [applicationId, connector.name, email, mailboxOf(connector, account)];
    return (await this.database.query(IS_PROVEN, key)).length > 0;
  }
}

/** A proof by the settings of the application's integration, if the connector knows one. */
function integrationProof(
  connector: Connector,
  account: AcceptedAccount,
  integration: IntegrationRow | undefined,
): AddressProof | null {
  return (integration && connector.provenByIntegration?.(account, integration.settings)) ?? null;
}
