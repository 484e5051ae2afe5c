import { assertAllowed } from '../platform/auth/access-rule.ts';
import type { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { type DeltaType, mayRead } from '../platform/changes/delta-types.ts';
import { CredentialNoLongerValidError, WaitingCaller } from '../platform/waiting/caller-watch.ts';

/** The caller of a waiting request, as the last look-up of the token found the account. */
export class WaitingAccount extends WaitingCaller<AccountPrincipal> {
  /**
   * @param token the presented access token
   * @param types objects that the request reads; the token must allow all of them
   * @param onRefused called when the request may no longer go on
   */
  constructor(
    private readonly credentials: Credentials,
    public account: AccountPrincipal,
    private readonly token: string,
    private readonly types: readonly DeltaType[],
    onRefused: () => void,
  ) {
    super(onRefused);
  }

  /**
   * @throws {CredentialNoLongerValidError} @throws {ForbiddenError} @throws
   * {ApplicationSuspendedError}
   */
  protected override async check(): Promise<AccountPrincipal> {
    const now = await this.credentials.accountByToken(this.token);
    if (now?.accountId !== this.account.accountId) throw new CredentialNoLongerValidError();
    assertAllowed(now);
    if (!this.types.every((type) => mayRead(now.scopes, type)))
      throw new CredentialNoLongerValidError();
    this.account = now;
    return now;
  }
}
