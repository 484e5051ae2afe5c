import { Injectable } from '@nestjs/common';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { ProviderAccount } from '../../providers/port/connector.ts';
import type { OauthTokens } from '../oauth/oauth-registration.ts';
import { openGrantSettings, openGrantTokens } from './grant-secrets.ts';
import { withToken } from './account-token.ts';
import type { GrantStatus, OrganizationUnit } from '../../platform/auth/grant-status.ts';

/** What a worker needs to act for an account. */
export interface ConnectedAccount extends ProviderAccount {
  provider: string;
  grantStatus: GrantStatus;
  /** The stored form of `settings`; another one after each authentication. */
  settingsSealed: string;
}

/** What `open` needs of a row of "grant" g, for queries that join it. */
export const ACCOUNT_COLUMNS = `
  g.id as "accountId", g.application_id as "applicationId", g.provider, g.email, g.name,
  g.organization_unit as "organizationUnit", g.status as "grantStatus", g.settings_sealed as "settingsSealed",
  g.tokens_sealed as "tokensSealed", g.token_version as "tokenVersion"`;

export interface AccountRow {
  accountId: string;
  applicationId: string;
  provider: string;
  email: string;
  name: string;
  organizationUnit: OrganizationUnit;
  grantStatus: GrantStatus;
  settingsSealed: string;
  /** Null: the account has not signed in by OAuth. */
  tokensSealed: string | null;
  tokenVersion: number;
}

const LOAD = `select ${ACCOUNT_COLUMNS} from "grant" g where g.id = any($1::uuid[])`;

/** Opened secrets are kept this long, of this many accounts: opening costs as much as the rest of loading. */
const KEPT_MS = 60_000;
const MOST_KEPT = 5_000;

interface Opened {
  settingsSealed: string;
  tokensSealed: string | null;
  settings: ProviderAccount['settings'];
  tokens: OauthTokens | null;
}

/** Loads accounts with their credentials opened, for dispatchers and the few synchronous provider calls. */
@Injectable()
export class ProviderAccounts {
  /** By account; good for these sealed texts: whoever authenticates again has others. */
  readonly #opened = new Map<string, Opened>();
  #keptSince = monotonicMs();

  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
  ) {}

  /** @returns undefined when the grant is gone */
  async find(accountId: string): Promise<ConnectedAccount | undefined> {
    return (await this.findMany([accountId])).get(accountId);
  }

  /** Several in one query; those that are gone are missing. */
  async findMany(accountIds: readonly string[]): Promise<Map<string, ConnectedAccount>> {
    const rows = await this.database.query<AccountRow>(LOAD, [accountIds]);
    return new Map(rows.map((row) => [row.accountId, this.open(row)]));
  }

  /** Whether the user has authenticated again since the account was loaded. */
  async isRenewed({ accountId, settingsSealed }: ConnectedAccount): Promise<boolean> {
    const now = await this.find(accountId);
    return now !== undefined && now.settingsSealed !== settingsSealed;
  }

  /**
   * The account of a row that a query has joined; columns besides those of `AccountRow` are left out. The token of one
   * that has signed in by OAuth may have expired: `ConnectorRegistry` sees to it when it is used.
   * @throws {UnsealError}
   */
  open(row: AccountRow): ConnectedAccount {
    const { accountId, applicationId, provider, email, name } = row;
    const { organizationUnit, grantStatus, settingsSealed, tokenVersion } = row;
    const { settings, tokens } = this.#secrets(row);
    const account = {
      accountId, applicationId, provider, email, name, organizationUnit, grantStatus, settingsSealed, settings,
    }; // prettier-ignore
    return tokens ? withToken(account, { version: tokenVersion, tokens }) : account;
  }

  #secrets({ accountId, settingsSealed, tokensSealed }: AccountRow): Opened {
    const now = monotonicMs();
    const kept = this.#opened.get(accountId);
    const isKept = kept?.settingsSealed === settingsSealed && kept.tokensSealed === tokensSealed;
    if (isKept && now - this.#keptSince < KEPT_MS) return kept;
    const settings = Object.freeze(openGrantSettings(this.secretBox, accountId, settingsSealed));
    const tokens =
      tokensSealed === null ? null : openGrantTokens(this.secretBox, accountId, tokensSealed);
    if (now - this.#keptSince >= KEPT_MS || this.#opened.size >= MOST_KEPT) {
      this.#opened.clear();
      this.#keptSince = now;
    }
    const opened = { settingsSealed, tokensSealed, settings, tokens };
    this.#opened.set(accountId, opened);
    return opened;
  }
}
