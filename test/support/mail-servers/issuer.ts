import { fileURLToPath } from 'node:url';
import { Daemon, freePorts } from './processes.ts';

const SCRIPT = fileURLToPath(new URL('issuer-process.ts', import.meta.url));

/** Tokens that the issuer gives to client `app`. */
export interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  /** Lifetime of the access token in seconds. */
  expiresIn: number;
}

/**
 * An OpenID provider for one suite. Its client is `app` with secret `app-secret`; PKCE is required,
 * and refresh tokens rotate.
 */
export class Issuer {
  readonly clientId = 'app';
  readonly clientSecret = 'app-secret';
  readonly url: string;
  readonly #daemon: Daemon;

  private constructor(port: number, daemon: Daemon) {
    this.url = `http://127.0.0.1:${port}`;
    this.#daemon = daemon;
  }

  static async start(): Promise<Issuer> {
    const [port = 0] = await freePorts(1);
    const daemon = new Daemon(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      SCRIPT,
      String(port),
    ]);
    await daemon.listening(port);
    return new Issuer(port, daemon);
  }

  /** Issues tokens for a user as if the user had signed in through the pages. */
  tokens(email: string): Promise<IssuedTokens> {
    return this.#post<IssuedTokens>('/test/tokens', { email });
  }

  /** Sets the lifetime of access tokens that are issued from now on. */
  async setAccessTokenSeconds(seconds: number): Promise<void> {
    await this.#post('/test/ttl', { seconds });
  }

  /** Makes the token endpoint return this status from now on; `null` makes it work again. */
  async setOutage(status: number | null): Promise<void> {
    await this.#post('/test/outage', { status });
  }

  /**
   * Makes the token endpoint refuse every request from now on with 401, the header
   * `WWW-Authenticate` (RFC 6749 section 5.2) and this error; `null` makes it work again.
   */
  async setRefusal(error: string | null): Promise<void> {
    await this.#post('/test/refusal', { error });
  }

  /** Number of requests to the token endpoint so far. */
  async tokenRequests(): Promise<number> {
    const response = await fetch(`${this.url}/test/requests`);
    return ((await response.json()) as { token: number }).token;
  }

  /**
   * Revokes an access or refresh token (RFC 7009). A refresh token takes all tokens of its grant
   * with it.
   */
  async revoke(token: string): Promise<void> {
    const authorization = `Basic ${Buffer.from(`${this.clientId}:${this.clientSecret}`).toString('base64')}`;
    const body = new URLSearchParams({ token });
    const response = await fetch(`${this.url}/token/revocation`, {
      method: 'POST',
      body,
      headers: { authorization },
    });
    if (!response.ok) throw new Error(`revocation: ${response.status} ${await response.text()}`);
  }

  stop(): Promise<void> {
    return this.#daemon.stop();
  }

  async #post<T>(path: string, body: object): Promise<T> {
    const response = await fetch(this.url + path, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }
}
