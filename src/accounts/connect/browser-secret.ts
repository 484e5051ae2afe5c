import { createHmac } from 'node:crypto';
import { equalHashes, hashToken } from '../../platform/base/crypto/token-hash.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';

const LENGTH = 40;
const SECRET = /^[0-9a-z]{40}$/;

/**
 * The cookie of the sign-in pages: a random secret of the browser. It names nobody and opens nothing; forms and the return
 * from a provider are believed only together with it. `__Host-` keeps neighbouring hosts from planting one of theirs.
 */
export class BrowserCookie {
  readonly #name: string;

  /** @param secure whether the pages are served by https; browsers take the prefix only there */
  constructor(private readonly secure: boolean) {
    this.#name = secure ? '__Host-carillon-sign-in' : 'carillon-sign-in';
  }

  /** @returns undefined when the browser has none, or something else under its name */
  read(header: string | undefined): string | undefined {
    const prefix = `${this.#name}=`;
    const found = (header ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .find((pair) => pair.startsWith(prefix))
      ?.slice(prefix.length);
    return found && SECRET.test(found) ? found : undefined;
  }

  /** `Set-Cookie` for a secret. Lax, not strict: links come from applications, and users from providers. */
  write(secret: string): string {
    return `${this.#name}=${secret}; Path=/; HttpOnly; SameSite=Lax${this.secure ? '; Secure' : ''}`;
  }
}

/** A new secret for a browser that has none. */
export const newBrowserSecret = (): string => randomBase36(LENGTH);

/** The secret as it is kept. */
export const browserHash = hashToken;

/** What a form of the page of this link carries, for this browser alone. */
export function formToken(secret: string, link: string): string {
  return createHmac('sha256', secret).update(`sign-in form\0${link}`).digest('base64url');
}

/** Whether the form came from a page that this browser was given for this link. */
export function isFormToken(given: unknown, secret: string, link: string): boolean {
  return (
    typeof given === 'string' &&
    equalHashes(Buffer.from(given), Buffer.from(formToken(secret, link)))
  );
}
