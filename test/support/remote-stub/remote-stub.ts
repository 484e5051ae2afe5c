import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Api, checkedAnswer, checkedRequest } from '../api-documents/check.ts';
import { type Fault, Faults } from './faults.ts';
import {
  type RecordedRequest,
  type StubAnswer,
  stubRequest,
  type StubRequest,
} from './messages.ts';

/** Settings of every stub. */
export interface StubOptions {
  /** Milliseconds of the stub's clock. Default: the system's clock. */
  now?: () => number;
  /** How many of the last requests `requests` keeps. Default: all. */
  keepRequests?: number;
}

/**
 * Base of the stubs of Google and Microsoft: an HTTP server on 127.0.0.1 that records what it
 * receives and lets a test add faults. It checks every request and every answer against the
 * document of the interface. A subclass says which interface a request belongs to and answers it.
 * The stubs of Google and of Microsoft both extend this class.
 */
export abstract class RemoteStub {
  readonly requests: RecordedRequest[] = [];
  /**
   * What was received or answered that the documents do not describe. A test that used the stub
   * ends with `expectDocumented(stub)`.
   */
  readonly violations: string[] = [];
  readonly faults = new Faults();
  /** Milliseconds of the stub's clock. A test may set it. */
  now: () => number;
  readonly #keepRequests: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      this.violations.push(`The stub failed: ${(error as Error).stack}`);
      response.destroy();
    });
  });

  constructor({ now = Date.now, keepRequests = Infinity }: StubOptions = {}) {
    this.now = now;
    this.#keepRequests = keepRequests;
  }

  /** The interface whose document describes a request; null if none does. */
  protected abstract apiOf(request: StubRequest): Api | null;

  /** Does what a request asks for. */
  protected abstract answer(request: StubRequest): Promise<StubAnswer> | StubAnswer;

  /** http://127.0.0.1:port */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @param port default: any free port */
  async listen(port = 0): Promise<this> {
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Cuts all connections and closes the server. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Recorded requests whose `METHOD path` begins with a text, or matches an expression. */
  requestsOf(what: string | RegExp): RecordedRequest[] {
    return this.requests.filter(({ method, path }) => {
      const line = `${method} ${path}`;
      return typeof what === 'string' ? line.startsWith(what) : what.test(line);
    });
  }

  /**
   * Handles a request as if it had arrived alone, with faults, record and checks. A subclass calls
   * it for each part of a batch.
   * @returns the answer; null if a fault cuts the connection
   */
  protected async handle(request: StubRequest): Promise<StubAnswer | null> {
    const fault = this.faults.take(request);
    const recorded: RecordedRequest = {
      ...request,
      at: this.now(),
      status: null,
      isFault: fault !== null && fault.answer !== 'none',
    };
    this.requests.push(recorded);
    if (this.requests.length > this.#keepRequests) this.requests.shift();
    if (fault?.delayMs) await delay(fault.delayMs);
    const answer = await this.#answerWith(request, fault);
    await fault?.until;
    recorded.status = answer?.status ?? null;
    return answer;
  }

  async #answerWith(request: StubRequest, fault: Fault | null): Promise<StubAnswer | null> {
    this.#check(request);
    if (!fault || fault.answer === 'none') return await this.#checkedAnswer(request);
    if (fault.answer === 'drop') return null;
    if (typeof fault.answer === 'object') return fault.answer;
    await this.#checkedAnswer(request);
    return fault.answer === 'drop-after-done' ? null : { status: 504, raw: 'Gateway Timeout' };
  }

  #check(request: StubRequest): void {
    const api = this.apiOf(request);
    if (!api) return;
    const { method, path, query, json } = request;
    this.violations.push(...checkedRequest(api, { method, path, query, body: json }));
  }

  async #checkedAnswer(request: StubRequest): Promise<StubAnswer> {
    const answer = await this.answer(request);
    const api = answer.raw === undefined ? this.apiOf(request) : null;
    if (!api) return answer;
    const { method, path } = request;
    const { status, body } = answer;
    // The check sees what is sent: fields that are undefined are not.
    const sent = body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as unknown);
    this.violations.push(...checkedAnswer(api, { method, path, status, body: sent }));
    return answer;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client cut its own request: there is nobody to answer.
      return;
    }
    const { method = 'GET', url = '/', headers } = request;
    const answer = await this.handle(stubRequest(method, url, headers, Buffer.concat(chunks)));
    if (!answer) {
      request.socket.destroy();
      return;
    }
    const { status, headers: extra = {}, body, raw } = answer;
    if (raw !== undefined) response.writeHead(status, extra).end(raw);
    else if (body === undefined) response.writeHead(status, extra).end();
    else {
      const type = { 'content-type': 'application/json; charset=UTF-8' };
      response.writeHead(status, { ...type, ...extra }).end(JSON.stringify(body));
    }
  }
}

/** Fails a test if its stub received or answered anything that the documents do not describe. */
export function expectDocumented({ violations }: RemoteStub): void {
  expect(violations).toEqual([]);
}
