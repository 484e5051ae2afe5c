import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basic, type Caller, field, items, text } from '../lib/api-client.ts';
import { StepFailure } from '../lib/report.ts';
import { callbackOf } from './settings.ts';
import { successful, type Walk } from './walk.ts';

const SIGN_IN_SECONDS = 600;

/** The application on the temporary server. */
interface LiveApplication {
  clientId: string;
  clientSecret: string;
  caller: Caller;
}

async function startServer(walk: Walk): Promise<LiveApplication> {
  const { server, report } = walk;
  await server.start();
  const made: unknown = JSON.parse(
    await server.operator(['--json', 'application', 'create', '--name=Live check']),
  );
  const clientId = text(made, 'client_id');
  const clientSecret = text(made, 'client_secret');
  report.hide(clientSecret);
  report.note(`${server.url}, database in ${server.dataDir} (deleted at the end)`);
  return {
    clientId,
    clientSecret,
    caller: { name: 'the application', authorization: basic(clientId, clientSecret) },
  };
}

/** Receives the browser at the end of the sign-in. */
class ReturnPage {
  readonly #server: Server;
  answer: URLSearchParams | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (pathname === '/') this.answer = searchParams;
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('Done. Close this page and go back to the terminal.\n');
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Opens the user's browser. If that fails, the printed address remains. */
function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '""', url.replaceAll('&', '^&')]
        : ['xdg-open', url];
  const child = spawn(command ?? '', args, { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

/** @returns a code of the sign-in pages */
async function signInByPage(
  walk: Walk,
  { caller }: LiveApplication,
  redirectUri: string,
  page: ReturnPage,
): Promise<string> {
  const { provider, unattended, port, email } = walk.settings;
  const answer = await walk.callAs(caller, 'POST', '/connect/auth', {
    provider: provider.name,
    redirect_uri: redirectUri,
    ...(email ? { login_hint: email } : {}),
  });
  const url = text(successful('POST /connect/auth', answer), 'data', 'url');
  walk.report.note(`Open this address and sign in: ${url}`);
  walk.report.note(`(${provider.title} sends you back to ${callbackOf(port)})`);
  if (!unattended) openBrowser(url);
  const back = await walk.until(SIGN_IN_SECONDS, async () => page.answer);
  if (!back) throw new StepFailure(`nobody signed in within ${SIGN_IN_SECONDS / 60} minutes`);
  const code = back.get('code');
  if (code) return code;
  throw new StepFailure(`${back.get('error')}: ${back.get('error_description')}`);
}

async function connectByPage(
  walk: Walk,
  application: LiveApplication,
  redirectUri: string,
  page: ReturnPage,
) {
  const code = await signInByPage(walk, application, redirectUri, page);
  const { clientId, clientSecret } = application;
  const answer = await walk.callAs({ name: 'the application' }, 'POST', '/oauth/token', {
    client_id: clientId,
    client_secret: clientSecret,
    grant_type: 'authorization_code',
    code,
  });
  const token = successful('POST /oauth/token', answer);
  return { id: text(token, 'account_id'), accessToken: text(token, 'access_token') };
}

async function connectByCredentials(walk: Walk, { caller }: LiveApplication, settings: object) {
  const answer = await walk.callAs(caller, 'POST', '/connect/grants', {
    provider: walk.settings.provider.name,
    settings,
  });
  const grant = field(successful('POST /connect/grants', answer), 'data');
  return { id: text(grant, 'id'), accessToken: text(grant, 'access_token') };
}

/** The user's address, and the scopes that apply to the account. */
async function readGrant(walk: Walk, { caller }: LiveApplication, id: string) {
  const path = `/connect/grants/${id}`;
  const grant = field(successful(path, await walk.callAs(caller, 'GET', path)), 'data');
  const granted = items(field(grant, 'granted_scope')).map(String);
  const scopes = granted.length > 0 ? granted : walk.settings.scopes;
  const missing = walk.settings.scopes.filter((scope) => !scopes.includes(scope));
  return { email: text(grant, 'email'), scopes, missing, grant };
}

async function signIn(walk: Walk, application: LiveApplication): Promise<void> {
  const { settings, report } = walk;
  const { provider, refreshToken, email } = settings;
  const page = new ReturnPage();
  try {
    const redirectUri = await page.listen();
    const registered = await walk.callAs(application.caller, 'POST', '/connect/integrations', {
      name: provider.title,
      provider: provider.name,
      settings: settings.integration,
      redirect_uris: [redirectUri],
      scope: settings.scopes,
    });
    successful('POST /connect/integrations', registered);
    report.verify('the client is registered as an integration', true);
    const own = refreshToken
      ? { refresh_token: refreshToken, ...(email ? { email } : {}) }
      : provider.password;
    const { id, accessToken } = own
      ? await connectByCredentials(walk, application, own)
      : await connectByPage(walk, application, redirectUri, page);
    walk.made('the account on the temporary server, and its tokens', () =>
      disconnect(walk, application, id),
    );
    report.hide(accessToken);
    const granted = await readGrant(walk, application, id);
    walk.useAccount({ id, accessToken, email: granted.email, scopes: granted.scopes });
    report.verify(`signed in as ${granted.email}`, true);
    const proof = field(granted.grant, 'proof');
    if (proof) report.verify(`the sign-in proves the address (${String(proof)})`, true);
    else report.note('! the sign-in does not prove the address (docs/account-ownership.md)');
    report.note(`granted: ${granted.scopes.join(', ')}`);
    if (granted.missing.length > 0)
      report.note(`! not allowed by the user: ${granted.missing.join(', ')}`);
  } finally {
    page.close();
  }
}

const REVOKED = /tokens of removed account \S+ were (not )?revoked[^"\n]*/;
const REVOKE_SECONDS = 15;

/** Disconnects the account and waits for what the company answers to the revocation. */
async function disconnect(walk: Walk, { caller }: LiveApplication, id: string): Promise<void> {
  const { report, server, settings } = walk;
  const path = `/connect/grants/${id}`;
  successful(`DELETE ${path}`, await walk.callAs(caller, 'DELETE', path));
  report.verify('the account is disconnected', true);
  if (settings.provider.password) return;
  const words = await walk.until(REVOKE_SECONDS, async () => REVOKED.exec(server.lastOutput)?.[0]);
  if (settings.provider.afterwards) return report.note(`! ${settings.provider.afterwards}`);
  report.verify(
    `${settings.provider.title} has revoked the tokens`,
    words?.endsWith('were revoked') === true,
    words ?? 'nothing was heard of the revocation',
  );
}

/** Starts the server and connects the account. @returns whether an account is connected */
export async function connect(walk: Walk): Promise<boolean> {
  let application: LiveApplication | undefined;
  const isStarted = await walk.step('A server of its own starts', [], async () => {
    application = await startServer(walk);
  });
  if (!isStarted) return false;
  return walk.step(`Sign-in at ${walk.settings.provider.title}`, [], async () => {
    if (application) await signIn(walk, application);
  });
}
