import {
  createObject,
  type DAVDepth,
  davRequest,
  deleteObject,
  propfind,
  updateObject,
} from 'tsdav';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { DavAllowance } from './dav-allowance.ts';
import { readDavAnswer } from './dav-answers.ts';
import {
  davFetch,
  type DavDependencies,
  type DavServer,
  isTrustedMove,
  DAV_TEXTS,
} from './dav-fetch.ts';
import type { DavAnswer, DavHead, DavResource } from './dav-xml.ts';

/** Properties of a resource, as parsed by `dav-xml.ts`. */
export type DavProps = Readonly<Record<string, unknown>>;

/** A resource with its version. */
export interface DavObject {
  path: string;
  etag: string | null;
  text: string;
}

const PRECONDITION_FAILED = 412;
const CALENDAR_TYPE = 'text/calendar; charset=utf-8';
const VCARD_TYPE = 'text/vcard; charset=utf-8';

/** Text of a property, or `null` if it has none. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).find((one) => one !== null) ?? null;
  return typeof value === 'object' && value !== null
    ? textOf((value as { _text?: unknown })._text)
    : null;
}

/** Child elements of a property. */
export function childrenOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a percent sign that is not an escape
  }
}

/** A path in one canonical spelling, independent of which characters the server escapes. */
export function normalPath(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(decoded(segment)))
    .join('/');
}

/** One account's view of a DAV server. All paths have the form of `normalPath`. */
export class DavSession {
  /** @param home URL of the account's collections, with a trailing slash */
  private constructor(
    private readonly means: DavDependencies,
    readonly server: DavServer,
    readonly home: URL,
  ) {}

  /**
   * Finds the account's home (RFC 6764, RFC 4791 section 6.2.1, RFC 6352 section 7.1.1), starting
   * from the configured URL, the well-known URL, or the root.
   * @param allowance limits for the requests of this search
   * @throws {ProviderError} also throws {DavAnswerTooLongError}
   */
  static async open(
    means: DavDependencies,
    server: DavServer,
    allowance?: DavAllowance,
  ): Promise<DavSession> {
    return DavSession.at(means, server, await findHome(means, server, allowance));
  }

  /** Opens a session at a home that was found before. */
  static at(means: DavDependencies, server: DavServer, home: URL): DavSession {
    return new DavSession(means, server, home);
  }

  /** The path of a URL given by the server. */
  pathOf(href: string | undefined): string {
    return normalPath(new URL(href ?? '', this.home).pathname);
  }

  /** The same for a collection, with a trailing slash. */
  collectionOf(href: string | undefined): string {
    return this.pathOf(href).replace(/\/?$/, '/');
  }

  /**
   * Whether a path can belong to this account: it lies below its home and contains no dot segments.
   */
  owns(path: string): boolean {
    return (
      path.startsWith(normalPath(this.home.pathname)) && !/(^|\/)(\.|%2E){1,2}(\/|$)/i.test(path)
    );
  }

  async propfind(
    path: string,
    props: Record<string, object>,
    depth: DAVDepth,
  ): Promise<DavResource[]> {
    const asked = { url: this.#url(path), props, depth };
    const { resources } = await this.#answer((fetch) => propfind({ ...asked, fetch }));
    return resources;
  }

  /** @param body in the library's form, with its namespaces */
  async report(path: string, body: object, namespace: string, depth: DAVDepth): Promise<DavAnswer> {
    const init = { method: 'REPORT' as const, namespace, headers: { depth }, body };
    return this.#answer((fetch) => davRequest({ url: this.#url(path), init, fetch }));
  }

  /** Sends MKCALENDAR, MKCOL or PROPPATCH. */
  async change(
    method: 'MKCALENDAR' | 'MKCOL' | 'PROPPATCH',
    path: string,
    body: object,
  ): Promise<DavAnswer> {
    const init = { method, namespace: 'd', body };
    return this.#answer((fetch) => davRequest({ url: this.#url(path), init, fetch }));
  }

  /** @throws {ProviderError} `not-found` */
  async get(path: string): Promise<DavObject> {
    const answer = await this.#fetch()(this.#url(path), { method: 'GET' });
    return { path, etag: answer.headers.get('etag'), text: await answer.text() };
  }

  /** @returns false if the path is already taken */
  async create(path: string, text: string): Promise<boolean> {
    const headers = { 'content-type': this.#type, 'if-none-match': '*' };
    const answer = await createObject({
      url: this.#url(path),
      data: text,
      headers,
      fetch: this.#fetch([PRECONDITION_FAILED]),
    });
    return answer.status !== PRECONDITION_FAILED;
  }

  /**
   * @param etag version to replace; `null` if the server has none
   * @returns false if the object has another version now
   */
  async replace(path: string, text: string, etag: string | null): Promise<boolean> {
    const answer = await updateObject({
      url: this.#url(path),
      data: text,
      headers: { 'content-type': this.#type },
      ...conditionOf(etag),
      fetch: this.#fetch([PRECONDITION_FAILED]),
    });
    return answer.status !== PRECONDITION_FAILED;
  }

  /**
   * @param etag see `replace`
   * @returns false if the object has another version now
   */
  async remove(path: string, etag: string | null): Promise<boolean> {
    const answer = await deleteObject({
      url: this.#url(path),
      ...conditionOf(etag),
      fetch: this.#fetch([PRECONDITION_FAILED]),
    });
    return answer.status !== PRECONDITION_FAILED;
  }

  get #type(): string {
    return this.server.kind === 'caldav' ? CALENDAR_TYPE : VCARD_TYPE;
  }

  #fetch(pass?: readonly number[]): typeof fetch {
    return davFetch(this.means, this.server, pass);
  }

  async #answer(ask: (fetch: typeof globalThis.fetch) => Promise<unknown>): Promise<DavAnswer> {
    const { answer } = await answerTo(this.means, this.server, true, this.#fetch(), ask);
    return answer;
  }

  #url(path: string): string {
    return new URL(path, this.home).href;
  }
}

/** Weak ETags cannot be compared (RFC 9110 section 13.1.1). */
const conditionOf = (etag: string | null) =>
  etag === null || etag.startsWith('W/') ? {} : { etag };

const HOME_PROPS = {
  caldav: { name: 'c:calendar-home-set', key: 'calendarHomeSet', wellKnown: '/.well-known/caldav' },
  carddav: {
    name: 'card:addressbook-home-set',
    key: 'addressbookHomeSet',
    wellKnown: '/.well-known/carddav',
  },
} as const;

function withSlash(url: URL): URL {
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/**
 * Sends a request that the library composes and parses the response in a worker thread. The library
 * would parse it on the main thread, with twenty times as much memory, so it gets an empty response
 * instead.
 */
async function answerTo(
  { threads }: DavDependencies,
  server: DavServer,
  isPatient: boolean,
  fetchIt: typeof fetch,
  ask: (fetch: typeof globalThis.fetch) => Promise<unknown>,
): Promise<{ answer: DavAnswer; head: DavHead }> {
  let text = '';
  let head: DavHead = { url: server.url, status: 0, contentType: '' };
  await ask(async (input, init) => {
    const response = await fetchIt(input, init);
    const { url, status, headers } = response;
    text = await response.text();
    head = { url, status, contentType: headers.get('content-type') ?? '' };
    return new Response(null, { status: 204 });
  });
  return { answer: await readDavAnswer(threads, server, text, head, isPatient), head };
}

async function findHome(
  means: DavDependencies,
  server: DavServer,
  allowance?: DavAllowance,
): Promise<URL> {
  const fetchIt = davFetch(means, server, [], allowance);
  const { name, key, wellKnown } = HOME_PROPS[server.kind];
  const { what, setting } = DAV_TEXTS[server.kind];
  const given = new URL(server.url);
  const ask = async (url: URL): Promise<{ props: DavProps; at: URL } | null> => {
    const props = { 'd:current-user-principal': {}, [name]: {}, 'd:resourcetype': {} };
    try {
      const { answer, head } = await answerTo(means, server, !allowance, fetchIt, (fetch) =>
        propfind({ url: url.href, props, depth: '0', fetch }),
      );
      const [found] = answer.resources;
      // Redirects may have led to another URL.
      return found?.ok && Object.keys(found.props).length > 0
        ? { props: found.props, at: new URL(head.url) }
        : null;
    } catch (error) {
      const elsewhere = ['not-found', 'unsupported', 'rejected'];
      if (error instanceof ProviderError && elsewhere.includes(error.code)) return null;
      throw error;
    }
  };
  const hrefIn = (value: unknown, at: URL): URL | null => {
    const href = textOf(childrenOf(value)['href']);
    const url = href !== null && URL.canParse(href, at.href) ? new URL(href, at) : null;
    return url && isTrustedMove(given, url) ? url : null;
  };
  let fallback: URL | null = null;
  for (const url of [given, new URL(wellKnown, given), new URL('/', given)]) {
    const found = await ask(url);
    if (!found) continue;
    const direct = hrefIn(found.props[key], found.at);
    if (direct) return withSlash(direct);
    const principal = hrefIn(found.props['currentUserPrincipal'], found.at);
    const asked = principal && (await ask(principal));
    const home = asked && hrefIn(asked.props[key], asked.at);
    if (home) return withSlash(home);
    if (url === given && 'collection' in childrenOf(found.props['resourcetype']))
      fallback = found.at;
  }
  // The server has no principals: the configured URL is the home itself.
  if (fallback) return withSlash(fallback);
  throw new ProviderError('rejected', `No ${what} were found at ${given.host}`, { setting });
}
