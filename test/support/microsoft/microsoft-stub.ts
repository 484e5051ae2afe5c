import { randomUUID } from 'node:crypto';
import type { Api } from '../api-documents/check.ts';
import type { StubOptions } from '../remote-stub/remote-stub.ts';
import { RemoteStub } from '../remote-stub/remote-stub.ts';
import type { StubApp, StubUser } from './directory/directory.ts';
import { answerBatch } from './graph/batch.ts';
import { answerGraph } from './graph/graph.ts';
import { routerOf } from './http/routes.ts';
import { errorBody, type StubAnswer, type StubRequest } from './http/types.ts';
import type { StoredMessage } from './mail/message.ts';
import type { LostLink } from './graph/delta-tokens.ts';
import { readMime } from './mail/mime.ts';
import { sendInOutlook } from './mail/send-routes.ts';
import { answerUpload, UPLOADS } from './mail/upload-sessions.ts';
import { type EntraContext, entraRoutes } from './oauth/entra.ts';
import { EntraError, entraErrors } from './oauth/oauth-error.ts';
import type { StubSettings } from './settings.ts';
import type { LifecycleEvent } from './subscriptions/subscriptions.ts';
import { World } from './world.ts';

export interface MicrosoftStubOptions extends StubOptions {
  settings?: Partial<StubSettings>;
}

/** How a message is put into a mailbox. */
export interface PutOptions {
  /** Id or well-known name. Default: `inbox`. */
  folder?: string;
  isRead?: boolean;
  isDraft?: boolean;
  /** Default: now. */
  received?: Date;
}

const entra = routerOf(entraRoutes);
const BATCH = '/v1.0/$batch';

/**
 * A stub of Microsoft Entra (OAuth) and Microsoft Graph v1.0 with real state. Entra is at
 * `origin/{tenant}/…`, Graph at `origin/v1.0/…`.
 */
export class MicrosoftStub extends RemoteStub {
  readonly world: World;

  constructor({ settings, ...options }: MicrosoftStubOptions = {}) {
    super(options);
    this.world = new World(() => this.now(), this.violations, settings);
  }

  /** Starts a stub. Its only application is `app` with the secret `app-secret`. */
  static async start(
    options: MicrosoftStubOptions & { port?: number } = {},
  ): Promise<MicrosoftStub> {
    const stub = await new MicrosoftStub(options).listen(options.port);
    stub.addApp({ clientId: 'app', secrets: new Set(['app-secret']) });
    return stub;
  }

  override async listen(port = 0): Promise<this> {
    await super.listen(port);
    this.world.origin = this.origin;
    return this;
  }

  override async stop(): Promise<void> {
    this.world.stop();
    await super.stop();
  }

  get settings(): StubSettings {
    return this.world.settings;
  }

  /** Adds a user with an empty mailbox; its domain becomes a tenant. */
  addUser(email: string, options: Partial<Pick<StubUser, 'displayName' | 'kind'>> = {}): StubUser {
    return this.world.directory.addUser(email, options);
  }

  addApp(app: Partial<StubApp> & { clientId: string }): StubApp {
    return this.world.directory.addApp(app);
  }

  /** The user with this address. @throws if there is none */
  user(email: string): StubUser {
    const user = this.world.directory.user(email);
    if (!user) throw new Error(`The stub has no user ${email}.`);
    return user;
  }

  /** Tokens of a user as if it had signed in and agreed to the scopes. */
  tokensFor(email: string, scopes: string[], clientId = 'app') {
    const user = this.user(email);
    const grant = this.world.tokens.grant(this.#app(clientId), user, user.tenantId);
    for (const scope of scopes) grant.scopes.add(scope);
    grant.refusal = null;
    return {
      accessToken: this.world.tokens.newAccessToken(grant, grant.scopes),
      refreshToken: this.world.tokens.newRefreshToken(grant, scopes.join(' ')),
    };
  }

  /** Puts a message into a mailbox as if it had arrived. */
  async put(
    email: string,
    mime: string | Buffer,
    options: PutOptions = {},
  ): Promise<StoredMessage> {
    const { mailbox } = this.user(email);
    const { folder = 'inbox', ...filing } = options;
    const found = mailbox.folder(folder);
    if (!found) throw new Error(`${email} has no folder ${folder}.`);
    const content = await readMime(Buffer.from(mime), mailbox.now());
    return mailbox.add(content, { ...filing, folderId: found.id });
  }

  /** Sends the draft with a subject as its user does in Outlook. @see sendInOutlook */
  async sendInOutlook(email: string, subject: string, isClassic: boolean): Promise<void> {
    const user = this.user(email);
    const draft = [...user.mailbox.messages()].find(
      (one) => one.isDraft && one.subject === subject,
    );
    if (!draft) throw new Error(`${email} has no draft ${subject}.`);
    await sendInOutlook(this.world, user, draft, isClassic);
  }

  /** Withdraws everything the user has agreed to: tokens stop working. */
  withdrawConsent(email: string): void {
    const text = `The user or administrator has not consented to use the application. Send an interactive authorization request for this user and resource.`;
    this.world.tokens.refuse(
      this.user(email),
      entraErrors.invalidGrant(65001, text, 'consent_required'),
    );
  }

  /** Revokes the user's sessions, as after a change of the password: tokens stop working. */
  revokeSessions(email: string): void {
    this.world.tokens.refuse(
      this.user(email),
      entraErrors.invalidGrant(
        50173,
        'The provided grant has expired due to it being revoked, a fresh auth token is needed. The user might have changed or reset their password.',
        'bad_token',
      ),
    );
  }

  /** Makes refreshing fail until the user signs in again with a second factor. */
  requireInteraction(email: string): void {
    const text =
      'Due to a configuration change made by your administrator, or because you moved to a new location, you must use multi-factor authentication to access Microsoft Graph.';
    this.world.tokens.refuse(
      this.user(email),
      new EntraError('interaction_required', 50076, text, { suberror: 'basic_action' }),
    );
  }

  /** Makes all links of delta queries given out so far answer an error, usually 410. */
  expireDeltaLinks(code: LostLink = 'syncStateNotFound'): void {
    this.world.deltas.expire(code);
  }

  /** Posts a notice about a subscription to its `lifecycleNotificationUrl`. */
  notifyLifecycle(subscriptionId: string, event: LifecycleEvent): Promise<void> {
    return this.world.subscriptions.lifecycle(subscriptionId, event);
  }

  protected apiOf({ path }: StubRequest): Api | null {
    return path.startsWith('/v1.0/') ? 'graph' : null;
  }

  protected async answer(request: StubRequest): Promise<StubAnswer> {
    if (request.path === BATCH && request.method === 'POST') {
      return answerBatch(request, this.settings, (part) => this.handle(part));
    }
    if (request.path.startsWith('/v1.0/')) return answerGraph(this.world, request);
    if (request.path.startsWith(UPLOADS)) return answerUpload(this.world, request);
    const found = entra.find(request.method, request.path);
    if (found === null || found === 'method') {
      const status = found === null ? 404 : 405;
      return { status, body: errorBody('NotFound', `no route ${randomUUID()}`) };
    }
    const context: EntraContext = { world: this.world, request };
    return found.value.handle(context, found.params);
  }

  #app(clientId: string): StubApp {
    const app = this.world.directory.apps.get(clientId);
    if (!app) throw new Error(`The stub has no application ${clientId}.`);
    return app;
  }
}
