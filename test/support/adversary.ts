import { expect } from '@jest/globals';
import type { Operation } from './api-document.ts';
import { type Belongings, credentialsOf } from './hostile-world.ts';
import type { TestApp } from './test-app.ts';

/**
 * Internals that must not appear in a response: stack traces, SQL, names of modules and libraries.
 */
const INSIDE =
  /\n\s+at |\.[jt]s:\d|node_modules|node:internal|\b(select|insert into|update|delete from) "?\w+"? |relation "|column "|constraint|MikroORM|postgres|kysely|zod/i;

/** Paths whose errors have the envelope `{success, error, request_id}`. */
const BETA = /^\/connect\/(integrations|grants|auth)(\/|\?|$)/;

const BETA_SHAPE = {
  success: false,
  error: { type: expect.stringMatching(/^\w+\.\w+$/), message: expect.stringMatching(/./) },
  request_id: expect.stringMatching(/./),
};
const FLAT_SHAPE = {
  message: expect.stringMatching(/./),
  type: expect.stringMatching(/^(invalid_request|api|provider|database)_error$/),
};

/** An HTTP response of the server under test. */
export interface ReceivedResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** The error message of a response, in either error format. */
export function messageOf({ text }: Pick<ReceivedResponse, 'text'>): string {
  const body = JSON.parse(text) as { message?: string; error?: { message: string } };
  return body.message ?? body.error?.message ?? '';
}

function difference(before: string, after: string): string {
  const known = new Set(before.split(' '));
  const changed = after.split(' ').filter((table) => !known.has(table));
  return changed.join(', ');
}

/** Sends invalid and hostile requests, and checks every response and the stored data after it. */
export class Adversary {
  readonly #secrets: string[];

  /** @param known owners whose secrets must not appear in any response */
  constructor(
    private readonly server: TestApp,
    readonly own: Belongings,
    readonly fingerprint: () => Promise<string>,
    known: readonly Belongings[],
  ) {
    this.#secrets = known.flatMap(({ application, account, spare }) => [
      application.clientSecret,
      account.token,
      spare.token,
    ]);
  }

  /** Attacks one operation. @returns the faults that were found */
  async attack(operation: Operation, work: (attack: Attack) => Promise<void>): Promise<string[]> {
    const attack = new Attack(this, operation, await this.fingerprint());
    await work(attack);
    await attack.compare('all of it', operation.method === 'GET' && !writes(operation));
    return attack.faults;
  }

  async send(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<ReceivedResponse> {
    const response = await fetch(this.server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: method === 'GET' ? null : (body ?? null),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Faults that can be seen in the response alone, for any request. */
  faultsOf({ status, headers, text }: ReceivedResponse, path: string): string[] {
    const faults: string[] = [];
    if (status >= 500 && status !== 501)
      faults.push(`a server error: ${status} ${text.slice(0, 200)}`);
    if (this.#secrets.some((secret) => text.includes(secret)))
      faults.push('the response contains a secret');
    if (status < 400) return faults;
    if (INSIDE.test(text)) faults.push(`the response exposes internals: ${text.slice(0, 300)}`);
    if (!headers.get('x-request-id')) faults.push(`${status} without a request id`);
    const type = headers.get('content-type') ?? '';
    if (!type.startsWith('application/json'))
      return [...faults, `${status} as ${type}: ${text.slice(0, 100)}`];
    const {
      missing_fields: _,
      server_error: __,
      ...body
    } = JSON.parse(text) as Record<string, unknown>;
    try {
      expect(body).toEqual(BETA.test(path) ? BETA_SHAPE : FLAT_SHAPE);
    } catch {
      faults.push(`${status} with an unexpected body: ${text.slice(0, 300)}`);
    }
    return faults;
  }
}

/**
 * True for operations that may store something. Of the `GET` operations, only the one that requests
 * a sync and the one that asks a mailing service do.
 */
const writes = ({ method, path }: Operation): boolean =>
  method !== 'GET' || /\/(sync|verified_status)$/.test(path);

/** Requests to one operation, and the faults found in the responses. */
export class Attack {
  readonly faults: string[] = [];
  readonly #adversary: Adversary;
  #stored: string;

  constructor(
    adversary: Adversary,
    readonly operation: Operation,
    stored: string,
  ) {
    this.#adversary = adversary;
    this.#stored = stored;
  }

  /**
   * @param what name of the request in the report
   * @param headers default: credentials that the operation accepts
   */
  async send(
    what: string,
    path: string,
    body?: string,
    headers: Record<string, string> = credentialsOf(this.operation, this.#adversary.own),
  ): Promise<ReceivedResponse> {
    const answer = await this.#adversary.send(this.operation.method, path, headers, body);
    for (const fault of this.#adversary.faultsOf(answer, path)) this.fault(what, fault);
    // For reads, the stored data is compared once, after the last request.
    if (writes(this.operation)) await this.compare(what, answer.status >= 400);
    return answer;
  }

  /**
   * Compares the stored data with that of the previous call.
   * @param unchanged true if a difference is a fault
   */
  async compare(what: string, unchanged: boolean): Promise<void> {
    const stored = await this.#adversary.fingerprint();
    if (unchanged && stored !== this.#stored) {
      this.fault(what, `something was stored: ${difference(this.#stored, stored)}`);
    }
    this.#stored = stored;
  }

  fault(what: string, text: string): void {
    this.faults.push(`${what}: ${text}`);
  }
}
