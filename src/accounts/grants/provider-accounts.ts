import { Injectable } from '../../platform/nest/light.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { ProviderAccount } from '../../providers/port/connector.ts';
import type { OauthTokens } from '../../providers/port/sign-in/oauth-descriptor.ts';
import { openGrantSettings, openGrantTokens } from './credentials/grant-secrets.ts';
import { withToken } from './tokens/account-token.ts';
import type { GrantStatus } from '../../platform/auth/grant-status.ts';
import type { Grant } from './grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** The data a worker needs to act for an account. */
export interface ConnectedAccount extends ProviderAccount {
  provider: string;
  grantStatus: GrantStatus;
  /** The encrypted form of `settings`. It is different after each authentication. */
  settingsSealed: string;
  /** Why the account sends nothing at present; `null` if it may send. */
  pause: AccountPause | null;
}

/**
 * A pause that an operator has set. `by`: of the account's sending, of the sending of its whole
 * application, or by suspending the application. Only the last one also stops syncing. `text` says
 * so for users, with the operator's reason.
 */
export interface AccountPause {
  by: 'account' | 'application' | 'suspension';
  text: string;
}

const pauseOf = (by: AccountPause['by'], text: string, reason: string) =>
  `jsonb_build_object('by', '${by}', 'text', '${text}' || coalesce(': ' || ${reason}, ''))`;

/** SQL expression for the `AccountPause` of a row of "grant" g. */
export const ACCOUNT_PAUSE = `(
  select case
    when a.suspended_at is not null then ${pauseOf('suspension', 'the application is suspended', 'a.suspension_reason')}
    when a.sending_paused_at is not null then ${pauseOf('application', 'sending of the application is paused', 'a.sending_pause_reason')}
    when g.sending_paused_at is not null then ${pauseOf('account', 'sending of the account is paused', 'g.sending_pause_reason')}
    end
  from application a where a.id = g.application_id)`;

/** SQL condition on a row of "grant" g: its account may send. */
export const MAY_SEND = `(
  g.sending_paused_at is null and not exists (
    select from application a
    where a.id = g.application_id and (a.sending_paused_at is not null or a.suspended_at is not null)))`;

/** SQL condition on a row of "grant" g: its application is not suspended. */
export const NOT_SUSPENDED = `
  not exists (select from application a where a.id = g.application_id and a.suspended_at is not null)`;

/** The columns that `open` needs from a row of "grant" g, for queries that join it. */
export const ACCOUNT_COLUMNS = `
  g.id as "accountId", g.application_id as "applicationId", g.provider, g.email, g.name,
  g.organization_unit as "organizationUnit", g.status as "grantStatus", g.settings_sealed as "settingsSealed",
  g.tokens_sealed as "tokensSealed", g.token_version as "tokenVersion", ${ACCOUNT_PAUSE} as pause`;

export interface AccountRow extends RowOf<
  Grant,
  | 'applicationId'
  | 'provider'
  | 'email'
  | 'name'
  | 'organizationUnit'
  | 'settingsSealed'
  | 'tokensSealed'
  | 'tokenVersion'
> {
  accountId: string;
  grantStatus: GrantStatus;
  pause: AccountPause | null;
}

const LOAD = `select ${ACCOUNT_COLUMNS} from "grant" g where g.id = any($1::uuid[])`;

/**
 * How long decrypted secrets are cached, and for how many accounts. Decrypting costs as much as the
 * rest of loading an account.
 */
const KEPT_MS = 60_000;
const MOST_KEPT = 5_000;

interface Decrypted {
  settingsSealed: string;
  tokensSealed: string | null;
  settings: ProviderAccount['settings'];
  tokens: OauthTokens | null;
}

/**
 * Loads accounts with their credentials decrypted, for dispatchers and the few synchronous provider
 * calls.
 */
@Injectable()
export class ProviderAccounts {
  /**
   * By account id. An entry is valid only for the same encrypted texts, which change with every
   * authentication.
   */
  readonly #decrypted = new Map<string, Decrypted>();
  #keptSince = monotonicMs();

  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
  ) {}

  /** @returns `undefined` if the grant has been deleted */
  async find(accountId: string): Promise<ConnectedAccount | undefined> {
    return (await this.findMany([accountId])).get(accountId);
  }

  /** Loads several accounts in one query. Deleted accounts are missing from the result. */
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
   * The account of a row that a query has joined. Columns other than those of `AccountRow` are left
   * out. The access token of an OAuth account may have expired; `ConnectorRegistry` replaces it
   * when it is used.
   * @throws {UnsealError}
   */
  open(row: AccountRow): ConnectedAccount {
    const { accountId, applicationId, provider, email, name } = row;
    const { organizationUnit, grantStatus, settingsSealed, tokenVersion, pause } = row;
    const { settings, tokens } = this.#secrets(row);
    const account = {
      accountId,
      applicationId,
      provider,
      email,
      name,
      organizationUnit,
      grantStatus,
      settingsSealed,
      settings,
      pause,
    };
    return tokens ? withToken(account, { version: tokenVersion, tokens }) : account;
  }

  #secrets({ accountId, settingsSealed, tokensSealed }: AccountRow): Decrypted {
    const now = monotonicMs();
    const kept = this.#decrypted.get(accountId);
    const isKept = kept?.settingsSealed === settingsSealed && kept.tokensSealed === tokensSealed;
    if (isKept && now - this.#keptSince < KEPT_MS) return kept;
    const settings = Object.freeze(openGrantSettings(this.secretBox, accountId, settingsSealed));
    const tokens =
      tokensSealed === null ? null : openGrantTokens(this.secretBox, accountId, tokensSealed);
    if (now - this.#keptSince >= KEPT_MS || this.#decrypted.size >= MOST_KEPT) {
      this.#decrypted.clear();
      this.#keptSince = now;
    }
    const decrypted = { settingsSealed, tokensSealed, settings, tokens };
    this.#decrypted.set(accountId, decrypted);
    return decrypted;
  }
}
