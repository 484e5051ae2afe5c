import type { GoogleStub } from './google-stub.ts';
import { scope } from './scopes.ts';

/** An answer as a test looks at it. */
export interface ClientAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON; the text if it is no JSON; undefined for an empty body. */
  body: Any;
}

/** JSON of which a test looks at single fields. */
// oxlint-disable-next-line typescript/no-explicit-any -- fields of any answer
export type Any = any;

/** Calls the stub as one person, for the tests of the stub itself. */
export class StubClient {
  readonly #stub: GoogleStub;
  /** May be replaced. */
  token: string;

  /** @param scopes short names. Default: everything */
  constructor(
    stub: GoogleStub,
    email: string,
    scopes: string[] = ['mail', 'calendar', 'contacts', 'contacts.other.readonly'],
  ) {
    this.#stub = stub;
    this.token = stub.oauth.accessTokenFor(email, scopes.map(scope));
  }

  async call(
    method: string,
    path: string,
    body?: object | string,
    headers: Record<string, string> = {},
  ): Promise<ClientAnswer> {
    const isJson = typeof body === 'object';
    const answer = await fetch(this.#stub.origin + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(isJson && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
    });
    const text = await answer.text();
    const { status } = answer;
    return { status, headers: answer.headers, body: parsed(text) };
  }

  /** A call of Gmail, below users/me. */
  mail(method: string, path: string, body?: object): Promise<ClientAnswer> {
    return this.call(method, `/gmail/v1/users/me/${path}`, body);
  }

  /** Sends a message. */
  send(text: string, threadId?: string): Promise<ClientAnswer> {
    const raw = Buffer.from(text).toString('base64url');
    return this.mail('POST', 'messages/send', { raw, ...(threadId && { threadId }) });
  }
}

/** A short message. */
export function mime(headers: Record<string, string>, text = 'Hello'): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${lines.join('')}\r\n${text}\r\n`;
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
