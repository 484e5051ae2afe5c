import { createEmulator, type Emulator } from '@inbox-zero/emulate';
import type { Api } from '../api-documents/check.ts';
import { type StubAnswer, stubRequest, type StubRequest } from '../remote-stub/messages.ts';
import {
  answerOf,
  type Deviation,
  EmulatorProxy,
  fetchParts,
  freePort,
  type Person,
} from './emulator-proxy.ts';

/** The OAuth client that is registered at the emulator. */
const CLIENT = { id: 'emulated-client', secret: 'emulated-secret' };

/** The package `@inbox-zero/emulate` as Microsoft: sign-in, and a part of Graph for one person. */
export class MicrosoftEmulator extends EmulatorProxy {
  readonly client = CLIENT;
  readonly person: Person = { email: 'ada@contoso.test', token: 'token-of-ada' };
  #emulator: Emulator | null = null;
  #address = '';
  protected readonly supplements = [];
  protected readonly userInfo = '/oidc/userinfo';
  protected readonly tokens = '/oauth2/v2.0/token';
  protected readonly revocation = '/oauth2/v2.0/revoke';

  /** Starts the emulator. @param redirectUri of the OAuth client */
  async open(redirectUri: string): Promise<void> {
    const port = await freePort();
    this.#address = `http://localhost:${port}`;
    const { email, token } = this.person;
    this.#emulator = await createEmulator({
      service: 'microsoft',
      port,
      seed: {
        tokens: { [token]: { login: email, scopes: [] } },
        microsoft: {
          // The emulator takes unknown tokens for those of the first user: nobody.
          users: [{ email: 'nobody@contoso.test' }, { email, name: 'Ada' }],
          oauth_clients: [
            {
              client_id: CLIENT.id,
              client_secret: CLIENT.secret,
              name: 'Carillon',
              redirect_uris: [redirectUri],
            },
          ],
        },
      },
    });
  }

  /** A request by another program of the person. @returns the body of the answer */
  // oxlint-disable-next-line typescript/no-explicit-any -- fields of any answer
  async web(method: string, path: string, json?: unknown): Promise<any> {
    const { token } = this.person;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = json === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(json));
    const answer = await this.forward(stubRequest(method, `/v1.0/me${path}`, headers, body));
    return answer.body;
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.#emulator?.close();
  }

  protected apiOf({ path }: StubRequest): Api | null {
    return path.startsWith('/v1.0/') ? 'graph' : null;
  }

  /**
   * The emulator has no setting for its own address, so the addresses that it names are changed.
   * Its issuer stays: signed tokens name it too.
   */
  protected async forward(request: StubRequest): Promise<StubAnswer> {
    const { url, init } = fetchParts(this.#address, request);
    const answer = await answerOf(await fetch(url, init));
    if (typeof answer.body !== 'object' || answer.body === null) return answer;
    const fields = Object.entries(answer.body).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' && name !== 'issuer'
        ? value.replace(this.#address, this.origin)
        : value,
    ]);
    return { ...answer, body: Object.fromEntries(fields) as unknown };
  }
}

/** Answers of `@inbox-zero/emulate` 0.4.5 that Microsoft's document does not describe. */
export const MICROSOFT_DEVIATIONS: readonly Deviation[] = [
  {
    violation: /\/mailFolders\/\w+: the body has the unknown field wellKnownName$/,
    does: 'Folders have the field `wellKnownName`, which only the beta version of Graph has.',
  },
];
