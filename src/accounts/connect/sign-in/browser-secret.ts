import { createHmac } from 'node:crypto';
import { equalHashes, hashToken } from '../../../platform/base/crypto/token-hash.ts';
import { randomBase36 } from '../../../platform/base/ids/ids.ts';

const LENGTH = 40;
const SECRET = /^[0-9a-z]{40}$/;

/**
 * The cookie of the sign-in pages: a random secret of the browser. It identifies no user and gives
 * no access. Forms and the return from a provider are accepted only with this cookie. The prefix
 * `__Host-` prevents neighbouring hosts from setting a cookie of their own.
 */
export class BrowserCookie {
  readonly #name: string;

  /** @param secure whether the pages are served by https; browsers accept the prefix only then */
  constructor(private readonly secure: boolean) {
    this.#name = secure ? '__Host-carillon-sign-in' : 'carillon-sign-in';
  }

  /**
   * @returns `undefined` if the browser sent no cookie of this name, or one that is not a valid
   *   secret
   */
  read(header: string | undefined): string | undefined {
    const prefix = `${this.#name}=`;
    const found = (header ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .find((pair) => pair.startsWith(prefix))
      ?.slice(prefix.length);
    return found && SECRET.test(found) ? found : undefined;
  }

  /**
   * Value of `Set-Cookie` for a secret. `Lax` instead of `Strict`, because browsers come here from
   * links of applications and from providers.
   */
  write(secret: string): string {
    return `${this.#name}=${secret}; Path=/; HttpOnly; SameSite=Lax${this.secure ? '; Secure' : ''}`;
  }
}

/** A new secret for a browser that has none. */
export const newBrowserSecret = (): string => randomBase36(LENGTH);

/** The hash under which the secret is stored. */
export const browserHash = hashToken;

/** Token in the forms of this link's pages. It is valid in this browser only. */
export function formToken(secret: string, link: string): string {
  return createHmac('sha256', secret).update(`sign-in form\0${link}`).digest('base64url');
}

/** Whether the form comes from a page that this browser received for this link. */
export function isFormToken(given: unknown, secret: string, link: string): boolean {
  return (
    typeof given === 'string' &&
    equalHashes(Buffer.from(given), Buffer.from(formToken(secret, link)))
  );
}
