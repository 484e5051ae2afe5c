import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A CalDAV server that stores every file as it is, like servers that do not parse calendars. */
export interface BareDav {
  url: string;
  /** Files by path. */
  files: Map<string, Buffer>;
  /** Whether lists name the etag of a file. */
  hasEtag: (path: string) => boolean;
  /** Files that are listed and that nobody gets: their status, 403 or 500. */
  withheld: Map<string, number>;
  stop(): Promise<void>;
}

const HOME = '/home/';
const CALENDAR = `${HOME}personal/`;
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const etagOf = (file: Buffer) => `"${createHash('sha1').update(file).digest('hex')}"`;

/** Starts the server, with one calendar and no reports of changes. */
export async function startBareDav(): Promise<BareDav> {
  const dav = {
    files: new Map<string, Buffer>(),
    hasEtag: (_path: string) => true,
    withheld: new Map<string, number>(),
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => answer(dav, request, Buffer.concat(parts), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(dav, {
    url: `http://127.0.0.1:${port}${HOME}`,
    stop: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  });
}

type Store = Pick<BareDav, 'files' | 'hasEtag' | 'withheld'>;

function answer(
  dav: Store,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  const path = new URL(request.url ?? '/', 'http://x').pathname;
  const file = dav.files.get(path);
  const send = (status: number, content: Buffer | string = '', type = 'text/calendar') =>
    response
      .writeHead(status, { 'content-type': type, ...(file ? { etag: etagOf(file) } : {}) })
      .end(content);
  switch (request.method) {
    case 'GET':
      return void (file ? send(dav.withheld.get(path) ?? 200, file) : send(404));
    case 'PUT':
      dav.files.set(path, body);
      return void send(201);
    case 'DELETE':
      return void send(dav.files.delete(path) ? 204 : 404);
    case 'PROPFIND':
      return void send(207, multistatus(listed(dav, path, request.headers['depth'])), 'text/xml');
    case 'REPORT':
      if (!body.includes('multiget')) return void send(403);
      return void send(207, multistatus(read(dav, body.toString())), 'text/xml');
    default:
      return void send(405);
  }
}

const multistatus = (responses: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([
    Buffer.from(
      '<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">',
    ),
    ...responses.map((one) => Buffer.from(one)),
    Buffer.from('</d:multistatus>'),
  ]);

const propstat = (href: string, props: string) =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${props}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;

function listed(dav: Store, path: string, depth: string | string[] | undefined): string[] {
  const home = `<d:resourcetype><d:collection/></d:resourcetype><c:calendar-home-set><d:href>${HOME}</d:href></c:calendar-home-set>`;
  const calendar =
    '<d:resourcetype><d:collection/><c:calendar/></d:resourcetype><d:displayname>Personal</d:displayname>';
  if (path !== CALENDAR)
    return [propstat(HOME, home), ...(depth === '1' ? [propstat(CALENDAR, calendar)] : [])];
  const files = [...dav.files].map(([name, file]) => {
    const etag = dav.hasEtag(name) ? `<d:getetag>${escaped(etagOf(file))}</d:getetag>` : '';
    return propstat(name, `${etag}<d:resourcetype/>`);
  });
  return [propstat(CALENDAR, calendar), ...(depth === '1' ? files : [])];
}

/** The files that a multiget names, as bytes: they need not be valid UTF-8. */
function read(dav: Store, body: string): Buffer[] {
  return [...body.matchAll(/<d:href>([^<]*)<\/d:href>/g)].map(([, path = '']) => {
    const file = dav.files.get(path);
    // Left out of the answer, so that the file is asked for by itself.
    if (dav.withheld.has(path)) return Buffer.alloc(0);
    if (!file)
      return Buffer.from(
        `<d:response><d:href>${path}</d:href><d:status>HTTP/1.1 404 Not Found</d:status></d:response>`,
      );
    const [before = '', after = ''] = propstat(
      path,
      `<d:getetag>${escaped(etagOf(file))}</d:getetag><c:calendar-data>|</c:calendar-data>`,
    ).split('|');
    const text = Buffer.from(escaped(file.toString('latin1')), 'latin1');
    return Buffer.concat([Buffer.from(before), text, Buffer.from(after)]);
  });
}
