import { fileURLToPath } from 'node:url';
import { Daemon, freePorts } from './processes.ts';

const SCRIPT = fileURLToPath(new URL('issuer-process.ts', import.meta.url));

/** Tokens as the issuer gives them to client `app`. */
export interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  /** Seconds. */
  expiresIn: number;
}

/** An OpenID provider of its own: client `app` with secret `app-secret`, PKCE required, refresh tokens rotate. */
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

  /** Tokens of somebody who has signed in, without the pages. */
  tokens(email: string): Promise<IssuedTokens> {
    return this.#post<IssuedTokens>('/test/tokens', { email });
  }

  /** How long access tokens last that are issued from now on. */
  async setAccessTokenSeconds(seconds: number): Promise<void> {
    await this.#post('/test/ttl', { seconds });
  }

  /** From now on the token endpoint answers with this status; null: it works again. */
  async setOutage(status: number | null): Promise<void> {
    await this.#post('/test/outage', { status });
  }

  /** Requests the token endpoint has got so far. */
  async tokenRequests(): Promise<number> {
    const response = await fetch(`${this.url}/test/requests`);
    return ((await response.json()) as { token: number }).token;
  }

  /** Revokes an access or refresh token (RFC 7009); a refresh token takes everything of its grant along. */
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
