import type { Connector, ProviderAccount } from './connector.ts';

/** Who keeps access tokens fresh, for accounts that have signed in by OAuth. */
export interface TokenSource {
  /**
   * Runs `work` with the account and a token that has not expired, and once more with another one when the provider
   * refuses the first: `work` must come to the same end when its login was refused before.
   * @throws {ProviderError} `auth-invalid` when the user has to sign in again, `temporary` when no token can be had now;
   *   and what `work` throws
   */
  withFreshToken<T>(
    account: ProviderAccount,
    work: (account: ProviderAccount) => Promise<T>,
  ): Promise<T>;
}

const PORTS: readonly PropertyKey[] = ['mail', 'mailbox', 'calendar', 'contacts'];

/** Methods that talk to no provider. */
const LOCAL: readonly PropertyKey[] = ['onChange', 'asStored', 'hasAddressBook'];

type Method = (...given: unknown[]) => unknown;

/**
 * A connector whose ports are called with fresh tokens. Accounts that have not signed in by OAuth reach it by a plain
 * call.
 */
export function withFreshTokens(connector: Connector, tokens: TokenSource): Connector {
  return wrapped(connector, (name, member) => {
    if (PORTS.includes(name) && typeof member === 'object' && member !== null) {
      return wrapped(member, (name, method) =>
        typeof method === 'function' ? wrapMethod(member, name, method as Method, tokens) : method,
      );
    }
    return typeof member === 'function' ? (member.bind(connector) as unknown) : member;
  });
}

/** Every member by `wrap`, once. */
function wrapped<T extends object>(
  target: T,
  wrap: (name: PropertyKey, member: unknown) => unknown,
): T {
  const made = new Map<PropertyKey, { of: unknown; is: unknown }>();
  return new Proxy(target, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      let kept = made.get(name);
      if (kept?.of !== member || !kept)
        made.set(name, (kept = { of: member, is: wrap(name, member) }));
      return kept.is;
    },
  });
}

function wrapMethod(
  target: object,
  name: PropertyKey,
  member: Method,
  tokens: TokenSource,
): Method {
  if (LOCAL.includes(name)) return (...given) => member.apply(target, given);
  return (...given) => {
    const [account, ...rest] = given as [ProviderAccount, ...unknown[]];
    if (account.token === undefined) return member.apply(target, given);
    return tokens.withFreshToken(
      account,
      (current) => member.call(target, current, ...rest) as Promise<unknown>,
    );
  };
}
