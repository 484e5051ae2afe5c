import { createEmulator, type Emulator } from 'emulate';
import type { Api } from '../api-documents/check.ts';
import { type StubAnswer, stubRequest, type StubRequest } from '../remote-stub/messages.ts';
import { answerOf, EmulatorProxy, fetchParts, freePort, type Person } from './emulator-proxy.ts';
import { GOOGLE_SUPPLEMENTS, type Mailboxes } from './google-supplements.ts';

/** The OAuth client that is registered at the emulator. */
const CLIENT = { id: 'emulated-client', secret: 'emulated-secret' };

/** The package `emulate` as Google: sign-in, Gmail and a part of Calendar. */
export class GoogleEmulator extends EmulatorProxy {
  readonly provider = 'google';
  readonly client = CLIENT;
  readonly #people: Person[] = [];
  #taken = 0;
  #emulator: Emulator | null = null;
  #address = '';
  readonly #mailboxes: Mailboxes = {
    tokenOf: (email) => this.#people.find((one) => one.email === email)?.token,
  };
  protected readonly supplements = GOOGLE_SUPPLEMENTS(this.#mailboxes);
  protected readonly userInfo = '/oauth2/v2/userinfo';
  protected readonly tokens = '/oauth2/token';
  protected readonly revocation = '/oauth2/revoke';

  /** Starts the emulator. @param redirectUris of the OAuth client */
  async open(people: number, redirectUris: readonly string[] = []): Promise<void> {
    for (let n = 1; n <= people; n++)
      this.#people.push({ email: `person${n}@gmail.test`, token: `token-${n}` });
    const port = await freePort();
    this.#address = `http://127.0.0.1:${port}`;
    this.#emulator = await createEmulator({
      service: 'google',
      port,
      hostname: '127.0.0.1',
      baseUrl: this.origin,
      seed: {
        tokens: Object.fromEntries(
          this.#people.map(({ email, token }) => [token, { login: email, scopes: [] }]),
        ),
        google: {
          // The emulator takes unknown tokens for those of the first user: nobody.
          users: ['', ...this.#people.map(({ email }) => email)].map((email) => ({
            email,
            name: email.split('@')[0],
          })),
          oauth_clients: [
            {
              client_id: CLIENT.id,
              client_secret: CLIENT.secret,
              redirect_uris: [...redirectUris],
            },
          ],
        },
      },
    });
  }

  /** The next person who was not taken before. */
  async person(): Promise<Person> {
    const next = this.#people[this.#taken++];
    if (!next) throw new Error(`there are only ${this.#people.length} people`);
    return next;
  }

  /** A request by another program of this person. */
  async web(one: Person, method: string, path: string, json?: unknown): Promise<StubAnswer> {
    const headers = { authorization: `Bearer ${one.token}`, 'content-type': 'application/json' };
    const body = json === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(json));
    return this.forward(stubRequest(method, path, headers, body));
  }

  /** Lets a message arrive from outside. */
  async deliver(one: Person, mime: string): Promise<void> {
    const raw = Buffer.from(mime).toString('base64url');
    await this.web(one, 'POST', '/gmail/v1/users/me/messages/import', { raw });
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.#emulator?.close();
  }

  protected apiOf({ path }: StubRequest): Api | null {
    if (/^(\/upload)?\/gmail\/v1\//.test(path)) return 'gmail';
    return path.startsWith('/calendar/v3/') ? 'calendar' : null;
  }

  protected async forward(request: StubRequest): Promise<StubAnswer> {
    const { url, init } = fetchParts(this.#address, request);
    return answerOf(await fetch(url, init));
  }
}
