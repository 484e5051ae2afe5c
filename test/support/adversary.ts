import { expect } from '@jest/globals';
import type { Operation } from './api-document.ts';
import { type Belongings, credentialsOf } from './hostile-world.ts';
import type { TestApp } from './test-app.ts';

/** What only a program's inside knows: stacks, SQL, names of its parts. */
const INSIDE =
  /\n\s+at |\.[jt]s:\d|node_modules|node:internal|\b(select|insert into|update|delete from) "?\w+"? |relation "|column "|constraint|MikroORM|postgres|kysely|zod/i;

/** Addresses whose errors come in the envelope. */
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

/** What came back. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The message of a refusal, whatever its shape. */
export function messageOf({ text }: Pick<Answer, 'text'>): string {
  const body = JSON.parse(text) as { message?: string; error?: { message: string } };
  return body.message ?? body.error?.message ?? '';
}

function difference(before: string, after: string): string {
  const known = new Set(before.split(' '));
  const changed = after.split(' ').filter((table) => !known.has(table));
  return changed.join(', ');
}

/** Sends requests nobody should send, and looks at every answer and at what is stored afterwards. */
export class Adversary {
  readonly #secrets: string[];

  /** @param known whose secrets must not be in any answer */
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

  /** Attacks one operation. @returns what was wrong */
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
  ): Promise<Answer> {
    const response = await fetch(this.server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: method === 'GET' ? null : (body ?? null),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** What is wrong with an answer, whatever was asked. */
  faultsOf({ status, headers, text }: Answer, path: string): string[] {
    const faults: string[] = [];
    if (status >= 500 && status !== 501)
      faults.push(`a server error: ${status} ${text.slice(0, 200)}`);
    if (this.#secrets.some((secret) => text.includes(secret)))
      faults.push('the answer holds a secret');
    if (status < 400) return faults;
    if (INSIDE.test(text)) faults.push(`the answer tells of the inside: ${text.slice(0, 300)}`);
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
      faults.push(`${status} of another shape: ${text.slice(0, 300)}`);
    }
    return faults;
  }
}

/** Reads change nothing, but for the one that asks for a sync, and the one that asks a mailing service. */
const writes = ({ method, path }: Operation): boolean =>
  method !== 'GET' || /\/(sync|verified_status)$/.test(path);

/** Requests to one operation, and what was wrong with the answers. */
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

  /** @param what for the report. @param headers default: credentials the operation accepts */
  async send(
    what: string,
    path: string,
    body?: string,
    headers: Record<string, string> = credentialsOf(this.operation, this.#adversary.own),
  ): Promise<Answer> {
    const answer = await this.#adversary.send(this.operation.method, path, headers, body);
    for (const fault of this.#adversary.faultsOf(answer, path)) this.fault(what, fault);
    // Reads are looked at once, at the end.
    if (writes(this.operation)) await this.compare(what, answer.status >= 400);
    return answer;
  }

  /** Looks at what is stored. @param unchanged whether it has to be what it was at the last look */
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
