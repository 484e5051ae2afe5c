import { once } from 'node:events';
import http, { type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';

/** A request as received. */
export interface DavRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A scripted response. */
export interface DavReply {
  /** Default: 207. */
  status?: number;
  headers?: Record<string, string>;
  /** Sent piece by piece, as fast as the client reads. May be endless. */
  body?: string | Iterable<string | Buffer>;
}

export interface FakeDavOptions {
  /** A scripted response, or `undefined` to respond as a well-behaved server. */
  answer?(request: DavRequest): DavReply | undefined;
}

const CALENDAR = '/home/calendar/';
const CONTACTS = '/home/contacts/';
const escaped = (text: string) =>
  text.replaceAll(/[<>&]/g, (sign) => ({ '<': '&lt;', '>': '&gt;' })[sign] ?? '&amp;');
const namespaces =
  'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:r="urn:ietf:params:xml:ns:carddav"';
const multistatus = (...parts: readonly string[]) =>
  `<?xml version="1.0"?><d:multistatus ${namespaces}>${parts.join('')}</d:multistatus>`;
const response = (href: string, props: string) =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${props}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;

const PRINCIPAL =
  '<d:current-user-principal><d:href>/me/</d:href></d:current-user-principal><c:calendar-home-set><d:href>/home/</d:href></c:calendar-home-set><r:addressbook-home-set><d:href>/home/</d:href></r:addressbook-home-set>';

/**
 * A CalDAV and CardDAV server on 127.0.0.1 (without TLS) with one calendar and one address book
 * that a test fills. Any password is accepted.
 */
export class FakeDav {
  /** ICS by file name. */
  readonly events = new Map<string, string>();
  /** vCards by file name. */
  readonly contacts = new Map<string, string>();
  readonly requests: DavRequest[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((request, answer) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const arrived = { method, url, headers, body: Buffer.concat(chunks).toString() };
      this.requests.push(arrived);
      const reply = this.options.answer?.(arrived) ?? this.#usual(arrived);
      const { status = 207, body = '' } = reply;
      answer.writeHead(status, { 'content-type': 'text/xml; charset=utf-8', ...reply.headers });
      if (typeof body === 'string') answer.end(body);
      else {
        const source = Readable.from(body);
        answer.on('close', () => source.destroy());
        source.pipe(answer);
      }
    });
  });

  private constructor(readonly options: FakeDavOptions) {}

  static async start(options: FakeDavOptions = {}): Promise<FakeDav> {
    const made = new FakeDav(options);
    made.#server.on('connection', (socket) => made.#sockets.add(socket));
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  /** http://127.0.0.1:port */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #usual({ method, url, body, headers }: DavRequest): DavReply {
    const isContacts = url.startsWith(CONTACTS);
    const objects = isContacts ? this.contacts : this.events;
    const base = isContacts ? CONTACTS : CALENDAR;
    if (method === 'PROPFIND' && url === '/home/' && headers['depth'] === '1')
      return {
        body: multistatus(
          response('/home/', '<d:resourcetype><d:collection/></d:resourcetype>'),
          ...collections(),
        ),
      };
    if (method === 'PROPFIND') {
      const known = collections().find((one) => one.includes(`<d:href>${url}</d:href>`));
      return { body: multistatus(known ?? response(url, PRINCIPAL)) };
    }
    if (method === 'REPORT' && body.includes('sync-collection')) {
      const tags = [...objects.keys()].map((name) =>
        response(base + name, `<d:getetag>"1"</d:getetag>`),
      );
      return { body: multistatus(...tags, '<d:sync-token>urn:1</d:sync-token>') };
    }
    if (method === 'REPORT') {
      const data = isContacts ? 'r:address-data' : 'c:calendar-data';
      const wanted = [...objects].filter(([name]) => body.includes(base + name));
      const found = wanted.map(([name, text]) =>
        response(base + name, `<d:getetag>"1"</d:getetag><${data}>${escaped(text)}</${data}>`),
      );
      return { body: multistatus(...found) };
    }
    if (method === 'OPTIONS')
      return { status: 200, headers: { dav: '1, calendar-access, addressbook' } };
    return { status: 405 };
  }
}

function collections(): string[] {
  const calendar =
    '<d:displayname>Calendar</d:displayname><d:resourcetype><d:collection/><c:calendar/></d:resourcetype><c:supported-calendar-component-set><c:comp name="VEVENT"/></c:supported-calendar-component-set><d:current-user-privilege-set><d:privilege><d:all/></d:privilege></d:current-user-privilege-set>';
  const contacts =
    '<d:displayname>Contacts</d:displayname><d:resourcetype><d:collection/><r:addressbook/></d:resourcetype><d:current-user-privilege-set><d:privilege><d:all/></d:privilege></d:current-user-privilege-set>';
  return [response(CALENDAR, calendar), response(CONTACTS, contacts)];
}
