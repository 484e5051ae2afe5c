import type { Connector, ProviderAccount } from '../connector.ts';

/** Provides fresh access tokens for accounts that signed in by OAuth. */
export interface TokenSource {
  /**
   * Runs `work` with the account and a token that has not expired. If the provider refuses that
   * token, runs `work` once more with a new one. `work` must be safe to repeat after a refused
   * login.
   * @throws {ProviderError} `auth-invalid` if the user has to sign in again, `temporary` if no
   *   token is available now; also every error that `work` throws
   */
  withFreshToken<T>(
    account: ProviderAccount,
    work: (account: ProviderAccount) => Promise<T>,
  ): Promise<T>;
}

const PORTS: readonly PropertyKey[] = ['mail', 'mailbox', 'calendar', 'contacts', 'push'];

/** Methods that do not call the provider and need no token. */
const LOCAL: readonly PropertyKey[] = [
  'onChange',
  'asStored',
  'hasAddressBook',
  'hasCalendars',
  'resources',
  'receive',
  'isPulled',
  'pull',
];

type Method = (...given: unknown[]) => unknown;

/**
 * Wraps a connector so that its ports are called with fresh tokens. Calls for accounts that did not
 * sign in by OAuth are passed through unchanged.
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

/**
 * A proxy that replaces every member with the result of `wrap`. Each member is wrapped once and
 * cached.
 */
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
