import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import type { AddressProof } from '../../providers/port/address-proof.ts';
import type { Connector, MailboxSettings } from '../../providers/port/connector.ts';
import { AddressUnprovenError } from './grants.errors.ts';
import { mailboxOf } from './mailbox-match.ts';

/** An account that its provider has accepted. */
export interface AcceptedAccount extends MailboxSettings {
  applicationId: string;
  /** The address that the authorization server of the sign-in names; null: it named none, or there was none. */
  claimedEmail: string | null;
  /** What the provider has proved already. */
  proof: AddressProof | null;
}

interface IntegrationRow {
  settings: Readonly<Record<string, unknown>>;
  requireProvenAddress: boolean;
}

const INTEGRATION = `
  select settings, require_proven_address as "requireProvenAddress" from integration
  where application_id = $1 and provider = $2`;

const IS_PROVEN = `
  select 1 from "grant"
  where application_id = $1 and provider = $2 and email = $3 and mailbox = $4 and proof is not null`;

/** Finds out what proves that a mailbox is that of its address (docs/account-ownership.md, ADR 0056). */
@Injectable()
export class AddressProofs {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
    private readonly database: Database,
  ) {}

  /**
   * For a sign-in: what is known at once. Only where the integration requires a proof, the domain is asked, too.
   * @returns null: nothing has proved it so far
   * @throws {AddressUnprovenError} when the integration requires a proof and there can be none, not even by a mail
   */
  async atSignIn(connector: Connector, account: AcceptedAccount): Promise<AddressProof | null> {
    const integration = await this.#integration(connector, account);
    const known = account.proof ?? integrationProof(connector, account, integration);
    if (known || !integration?.requireProvenAddress) return known;
    const found = (await connector.prove?.(account)) ?? null;
    const mailWillTell = this.config.operatorMail !== null && connector.receivesMail === true;
    if (found || mailWillTell || (await this.#isProven(connector, account))) return found;
    throw new AddressUnprovenError(account.email);
  }

  /** Later, for an account that has no proof yet: also asks the domain. @returns null: nothing proves it so far */
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

  /** Whether this very mailbox is connected and proven: a loop proves it once. */
  async #isProven(connector: Connector, account: AcceptedAccount): Promise<boolean> {
    const { applicationId, email } = account;
    const key = [applicationId, connector.name, email, mailboxOf(connector, account)];
    return (await this.database.query(IS_PROVEN, key)).length > 0;
  }
}

/** Servers that the application itself has fixed, and that let the address itself in. */
function integrationProof(
  connector: Connector,
  { email, settings, claimedEmail }: AcceptedAccount,
  integration: IntegrationRow | undefined,
): AddressProof | null {
  const host = integration?.settings['imap_host'];
  if (!integration || !host || !connector.mailboxKey) return null;
  const own = { ...integration.settings, imap_username: email };
  const opens =
    mailboxOf(connector, { email, settings: own }) === mailboxOf(connector, { email, settings });
  if (!opens) return null;
  return claimedEmail === email ? 'oauth' : 'integration';
}
