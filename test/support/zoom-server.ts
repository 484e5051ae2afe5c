import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A meeting as it was requested. */
export interface ZoomMeeting {
  id: number;
  /** The user that owns the meeting, from the path. */
  user: string;
  topic: string;
  type: number;
  start_time?: string;
  duration?: number;
  timezone?: string;
  agenda: string;
  password: string;
  settings?: Record<string, unknown>;
}

/** A request as it arrived. */
export interface ZoomRequest {
  method: string;
  path: string;
  authorization: string;
  body: string;
}

type Behaviour = (response: ServerResponse, socket: Socket) => void;

/**
 * Stands in for Zoom's API v2, as documented: tokens for server-to-server OAuth apps, meetings of
 * users, and error responses. The real API runs only at Zoom.
 */
export class ZoomServer {
  readonly meetings = new Map<number, ZoomMeeting>();
  readonly asked: ZoomRequest[] = [];
  secret = 'zoom-secret';
  #tokens = 0;
  #next = 85_000_000_000;
  /**
   * Answers the next requests whose method and path begin with `what`. With `after`, the API does
   * its work first.
   */
  readonly #faults: { what: string; behave: Behaviour; after: boolean }[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url: path = '', headers, socket } = request;
      const { authorization = '' } = headers;
      const asked = { method, path, authorization, body: Buffer.concat(chunks).toString() };
      this.asked.push(asked);
      const index = this.#faults.findIndex(({ what }) => `${method} ${path}`.startsWith(what));
      const [fault] = index === -1 ? [] : this.#faults.splice(index, 1);
      const answer = fault && !fault.after ? null : this.#answer(asked);
      if (fault) fault.behave(response, socket);
      else if (answer) {
        const [status, body] = answer;
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(body === undefined ? undefined : JSON.stringify(body));
      }
    });
  });

  static async start(): Promise<ZoomServer> {
    const server = new ZoomServer();
    server.#server.on('connection', (socket) => server.#sockets.add(socket));
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** http://127.0.0.1:port */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings that the server accepts. */
  get settings(): Record<string, string> {
    return {
      account_id: 'acc',
      client_id: 'cid',
      client_secret: this.secret,
      base_url: this.origin,
    };
  }

  reset(): void {
    this.secret = 'zoom-secret';
    this.meetings.clear();
    this.asked.length = 0;
    this.#faults.length = 0;
    // Tokens of the previous test are refused.
    this.#tokens += 1;
  }

  /** Makes the next request that begins with `what` fail with this response. */
  refuse(what: string, status: number, body: object, headers: Record<string, string> = {}): void {
    const behave: Behaviour = (response) =>
      response.writeHead(status, headers).end(JSON.stringify(body));
    this.#faults.push({ what, behave, after: false });
  }

  /** Makes the next request that begins with `what` take effect, but lose its response. */
  loseResponse(what: string): void {
    this.#faults.push({ what, behave: (_response, socket) => socket.destroy(), after: true });
  }

  /** Revokes the token that is in use. */
  expireTokens(): void {
    this.#tokens += 1;
  }

  /** Number of requests that begin with `what`, such as `POST /v2`. */
  countOf(what: string): number {
    return this.asked.filter(({ method, path }) => `${method} ${path}`.startsWith(what)).length;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer({ method, path, authorization, body }: ZoomRequest): [number, unknown?] {
    if (path === '/oauth/token') return this.#token(authorization, new URLSearchParams(body));
    if (authorization !== `Bearer token-${this.#tokens}`)
      return [401, { code: 124, message: 'Invalid access token.' }];
    const { pathname } = new URL(path, this.origin);
    const [, user] = /^\/v2\/users\/([^/]+)\/meetings$/.exec(pathname) ?? [];
    if (user && method === 'POST')
      return this.#create(decodeURIComponent(user), JSON.parse(body) as ZoomMeeting);
    if (user && method === 'GET') return [200, { meetings: this.#listed(), next_page_token: '' }];
    const meeting = this.meetings.get(Number(pathname.replace('/v2/meetings/', '')));
    if (!meeting) return [404, { code: 3001, message: 'Meeting does not exist.' }];
    if (method === 'GET') return [200, this.#shown(meeting)];
    if (method === 'DELETE') this.meetings.delete(meeting.id);
    else Object.assign(meeting, JSON.parse(body));
    return [204];
  }

  #token(authorization: string, form: URLSearchParams): [number, unknown] {
    const expected = `Basic ${Buffer.from(`cid:${this.secret}`).toString('base64')}`;
    if (authorization !== expected)
      return [400, { reason: 'Invalid client_id or client_secret', error: 'invalid_client' }];
    if (form.get('grant_type') !== 'account_credentials' || form.get('account_id') !== 'acc')
      return [400, { reason: 'Bad Request', error: 'invalid_request' }];
    return [200, { access_token: `token-${this.#tokens}`, token_type: 'bearer', expires_in: 3599 }];
  }

  #create(user: string, wanted: ZoomMeeting): [number, unknown] {
    if (wanted.settings?.['bad']) return [400, { code: 300, message: 'Validation Failed.' }];
    const meeting = {
      ...wanted,
      user,
      id: (this.#next += 1),
      password: wanted.password ?? 'zoomMade',
    };
    this.meetings.set(meeting.id, meeting);
    return [201, this.#shown(meeting)];
  }

  #shown(meeting: ZoomMeeting): object {
    const { settings, ...rest } = meeting;
    const numbers = [{ country: 'DE', number: '+49 69 1234567', type: 'toll' }];
    return {
      ...rest,
      join_url: `https://zoom.example.test/j/${meeting.id}?pwd=${meeting.password}`,
      settings: { ...settings, global_dial_in_numbers: numbers },
    };
  }

  #listed(): object[] {
    return [...this.meetings.values()].map(({ id, topic, agenda }) => ({
      id,
      topic,
      agenda: agenda.slice(0, 250),
    }));
  }
}
