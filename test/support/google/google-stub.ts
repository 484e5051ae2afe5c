import type { Api } from '../api-documents/check.ts';
import { type StubAnswer, stubRequest, type StubRequest } from '../remote-stub/messages.ts';
import { RemoteStub, type StubOptions } from '../remote-stub/remote-stub.ts';
import { Router } from '../remote-stub/router.ts';
import { batchAnswer, batchParts, isBatch } from './batch.ts';
import { addCalendarMethods } from './calendar/calendar-methods.ts';
import type { Calendars } from './calendar/calendars.ts';
import { addEventMethods } from './calendar/event-methods.ts';
import { addOtherCalendarMethods } from './calendar/other-methods.ts';
import type { GoogleMethod } from './call.ts';
import { blockedApplication, GoogleError, preconditionFailed } from './errors.ts';
import { addDraftMethods } from './gmail/draft-methods.ts';
import { addMailboxMethods } from './gmail/mailbox-methods.ts';
import type { MailMessage } from './gmail/mailbox.ts';
import { addMessageMethods } from './gmail/message-methods.ts';
import { deliverMail } from './gmail/sending.ts';
import { addThreadMethods } from './gmail/thread-methods.ts';
import type { GoogleUser } from './google-user.ts';
import type { GoogleHabits } from './habits.ts';
import type { AccessToken } from './oauth/grants.ts';
import { GoogleOAuth } from './oauth/google-oauth.ts';
import { addGroupMethods } from './people/group-methods.ts';
import { addPeopleMethods } from './people/people-methods.ts';
import { isPubSub, pubSubAnswer } from './pubsub/pubsub-methods.ts';
import { PubSub } from './pubsub/pubsub.ts';
import { NEEDS } from './scopes.ts';
import type { GoogleQuotas } from './quotas.ts';
import { GoogleWorld, type OutgoingMail } from './world.ts';

/**
 * Stands in for Google: sign-in, Gmail, Calendar, People and Pub/Sub, with state and with Google's
 * rules as published. All hosts of Google are this one server, so every base address of a client
 * is `origin`. It was written from the manuals; the real services run only at Google.
 *
 * A test adds people with `addUser`, lets them consent on the authorize page
 * (`oauth.consent`), sends them mail from outside with `deliver`, and ends with
 * `expectDocumented(stub)`. Faults: see `RemoteStub.faults`.
 */
export class GoogleStub extends RemoteStub {
  readonly oauth: GoogleOAuth;
  readonly quotas: GoogleQuotas;
  readonly pubsub: PubSub;
  readonly world: GoogleWorld;
  readonly #router = new Router<GoogleMethod>();
  /** Requests of resumable uploads that wait for their content. */
  readonly #uploads = new Map<string, StubRequest>();

  /** Starts the stub on a free port, or on `port`. */
  static async start(options: StubOptions & { port?: number } = {}): Promise<GoogleStub> {
    return await new GoogleStub(options).listen(options.port);
  }

  constructor(options: StubOptions = {}) {
    super(options);
    const now = () => this.now();
    this.pubsub = new PubSub({
      now,
      origin: () => this.origin,
      signed: (claims) => this.oauth.signed(claims),
    });
    const origin = () => this.origin;
    this.world = new GoogleWorld(now, origin, this.pubsub);
    this.quotas = this.world.quotas;
    this.oauth = new GoogleOAuth({
      get origin() {
        return origin();
      },
      now,
      identity: (email) => this.world.identity(email),
      firstIdentity: () => this.world.firstIdentity(),
    });
    addMessageMethods(this.#router);
    addMailboxMethods(this.#router);
    addDraftMethods(this.#router);
    addThreadMethods(this.#router);
    addCalendarMethods(this.#router);
    addEventMethods(this.#router);
    addOtherCalendarMethods(this.#router);
    addPeopleMethods(this.#router);
    addGroupMethods(this.#router);
  }

  /**
   * Adds a person with a mailbox and a primary calendar.
   * @param name default: the part of the address before @
   * @param timeZone of the calendar. Default: Europe/Berlin
   */
  addUser(email: string, name?: string, timeZone?: string): GoogleUser {
    return this.world.addUser(email, name, timeZone);
  }

  /** What this Google does to its clients beside what its manuals say. */
  get habits(): GoogleHabits {
    return this.world.habits;
  }

  /** All calendars, channels, rooms and the mails that Calendar sent. */
  get calendars(): Calendars {
    return this.world.calendars;
  }

  /** Mail that people sent to addresses that the stub does not have. */
  get outgoing(): OutgoingMail[] {
    return this.world.outgoing;
  }

  /**
   * Lets a message arrive from outside.
   * @returns its copies, one for each person of the stub among the recipients
   */
  deliver(
    raw: Buffer | string,
    recipients: readonly string[],
    from = 'x@elsewhere.test',
  ): MailMessage[] {
    return deliverMail(this.world, from, recipients, Buffer.from(raw));
  }

  protected apiOf({ path, query }: StubRequest): Api | null {
    if (query.has('upload_id') || query.get('uploadType') === 'resumable') return null;
    if (/^(\/upload)?\/gmail\/v1\//.test(path)) return 'gmail';
    if (path.startsWith('/calendar/v3/')) return 'calendar';
    return /^\/v1\/(people|contactGroups|otherContacts)\b/.test(path) ? 'people' : null;
  }

  protected async answer(request: StubRequest): Promise<StubAnswer> {
    try {
      if (isBatch(request)) return await this.#batch(request);
      if (isPubSub(request)) return this.#pubSub(request);
      const answer = this.oauth.answer(request) ?? this.#photo(request) ?? this.#upload(request);
      return answer ?? (await this.#call(request));
    } catch (error) {
      if (!(error instanceof GoogleError)) throw error;
      return error.answer(request.path.startsWith('/calendar/'));
    }
  }

  async #batch(request: StubRequest): Promise<StubAnswer> {
    const answers: { contentId: string | null; answer: StubAnswer }[] = [];
    for (const { contentId, request: part } of batchParts(request)) {
      const answer = (await this.handle(part)) ?? { status: 500, raw: '' };
      answers.push({ contentId, answer });
    }
    return batchAnswer(answers);
  }

  /** Pub/Sub is called by the project's service account, not for a person. */
  #pubSub(request: StubRequest): StubAnswer {
    const { scopes } = this.#token(request);
    if (!NEEDS.pubsub.some((scope) => scopes.has(scope))) throw missingScope(NEEDS.pubsub);
    this.quotas.charge({ service: 'pubsub', units: 1 }, 'project');
    return pubSubAnswer(this.pubsub, request);
  }

  /** A contact's photo, at the address that its person shows. */
  #photo({ path }: StubRequest): StubAnswer | null {
    const [, email = '', id = ''] = /^\/photos\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    const user = this.world.users.get(decodeURIComponent(email));
    const photo = user?.contacts.people.get(`people/${id}`)?.photo;
    return photo ? { status: 200, headers: { 'content-type': 'image/jpeg' }, raw: photo } : null;
  }

  /** The first of the two requests of a resumable upload. The second brings the content. */
  #upload(request: StubRequest): StubAnswer | null {
    if (request.query.get('uploadType') !== 'resumable' || request.query.has('upload_id'))
      return null;
    this.#token(request);
    const id = `upload-${this.world.nextId()}`;
    this.#uploads.set(id, request);
    const location = `${this.origin}${request.path}?uploadType=resumable&upload_id=${id}`;
    return { status: 200, headers: { location, 'x-guploader-uploadid': id } };
  }

  async #call(request: StubRequest): Promise<StubAnswer> {
    const begun = this.#uploads.get(request.query.get('upload_id') ?? '');
    const asked = begun ? resumed(begun, request) : request;
    const route = this.#router.find(asked.method, asked.path);
    if (!route || route === 'method') throw new GoogleError(404, 'notFound', 'Not Found');
    const { value: method, params } = route;
    const token = this.#token(asked);
    const user = this.#userOf(token, params['userId']);
    if (!method.needs.some((scope) => token.scopes.has(scope))) throw missingScope(method.needs);
    if (this.habits.blocked.has(user.email)) throw blockedApplication();
    this.quotas.charge(method, user.email);
    if (method.isEventWrite === true) this.quotas.chargeEventWrite(user.email);
    if (method.service === 'gmail' && this.habits.refuses(method, asked.path.endsWith('/send')))
      throw preconditionFailed();
    if (asked.body.length > 0 && asked.json === undefined && !asked.path.startsWith('/upload/'))
      throw new GoogleError(400, 'badRequest', 'Invalid JSON payload received.');
    const body = (asked.json ?? {}) as Record<string, unknown>;
    const { query } = asked;
    const { world } = this;
    return await method.handle({
      world,
      user,
      params,
      query,
      body,
      request: asked,
      scopes: token.scopes,
    });
  }

  #token({ headers, query }: StubRequest): AccessToken {
    const text = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
    const given = text ?? query.get('access_token') ?? '';
    const token = this.oauth.grants.accessToken(given, this.now());
    if (token) return token;
    throw new GoogleError(
      401,
      'authError',
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
      {
        entry: { location: 'Authorization', locationType: 'header' },
        headers: { 'www-authenticate': 'Bearer realm="https://accounts.google.com/"' },
      },
    );
  }

  #userOf({ email }: AccessToken, wanted: string | undefined): GoogleUser {
    const user = this.world.users.get(email ?? '');
    if (!user) throw preconditionFailed();
    if (wanted !== undefined && wanted !== 'me' && wanted.toLowerCase() !== user.email)
      throw new GoogleError(403, 'forbidden', `Delegation denied for ${user.email}`);
    return user;
  }
}

/** The request of a resumable upload together with its content. */
function resumed(begun: StubRequest, { headers, body }: StubRequest): StubRequest {
  const url = `${begun.path}?uploadType=media`;
  const type = begun.headers['x-upload-content-type'] ?? headers['content-type'];
  const authorization = begun.headers.authorization;
  const own = {
    ...(authorization && { authorization }),
    'content-type': String(type ?? 'message/rfc822'),
  };
  return stubRequest(begun.method, url, own, body);
}

function missingScope(needs: readonly string[]): GoogleError {
  const scope = needs.join(' ');
  return new GoogleError(
    403,
    'insufficientPermissions',
    'Request had insufficient authentication scopes.',
    {
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
          domain: 'googleapis.com',
        },
      ],
      headers: {
        'www-authenticate': `Bearer realm="https://accounts.google.com/", error="insufficient_scope", scope="${scope}"`,
      },
    },
  );
}
