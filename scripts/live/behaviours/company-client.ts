import { field, type Json } from '../../lib/api-client.ts';
import { StepFailure } from '../../lib/report.ts';

/** A response of a company. */
export interface CompanyAnswer {
  status: number;
  /** Parsed JSON; `undefined` if the body is empty, too large or no JSON. */
  body: Json;
}

/** Parts of a request besides its method and path. */
export interface CompanyRequest {
  query?: Readonly<Record<string, string>>;
  json?: object;
  headers?: Readonly<Record<string, string>>;
}

const MOST_BYTES = 4 * 1024 * 1024;
const DEADLINE_MS = 30_000;

/** Calls a company's API directly, without Carillon, to see what it answers. */
export class CompanyClient {
  readonly #address: string;
  readonly #accessToken: string;

  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers of every request; a request may replace them */
  constructor(
    address: string,
    accessToken: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#headers = headers;
    this.#address = address;
    this.#accessToken = accessToken;
  }

  /**
   * Makes one request.
   * @param path below the address; or a whole address that begins with it, such as a link of Graph
   * @throws {StepFailure} if there is no response, or the path leads to another server
   */
  async call(method: string, path: string, request: CompanyRequest = {}): Promise<CompanyAnswer> {
    const { query, json, headers } = request;
    const url = new URL(path.startsWith('/') ? this.#address + path : path);
    if (url.origin !== new URL(this.#address).origin)
      throw new StepFailure('the company sent a link to another server');
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.append(name, value);
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#accessToken}`,
        ...(json ? { 'content-type': 'application/json' } : {}),
        ...this.#headers,
        ...headers,
      },
      body: json && JSON.stringify(json),
      redirect: 'error',
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).catch((error: unknown) => {
      throw new StepFailure(`the company did not answer: ${String(error)}`);
    });
    return { status: response.status, body: await bodyOf(response) };
  }

  /**
   * The body of a successful response.
   * @throws {RefusedError} for another one
   */
  async expect(method: string, path: string, request?: CompanyRequest): Promise<Json> {
    const answer = await this.call(method, path, request);
    if (answer.status >= 300) throw new RefusedError(answer);
    return answer.body;
  }
}

/** The company refused a request that a behaviour needs. */
export class RefusedError extends Error {
  override name = 'RefusedError';

  readonly answer: CompanyAnswer;

  constructor(answer: CompanyAnswer) {
    super(`the company answered ${answer.status}`);
    this.answer = answer;
  }
}

/** The company's own word for an error: the reason of Google, the code of Microsoft. */
export function errorWord({ body }: CompanyAnswer): unknown {
  return (
    field(body, 'error', 'errors', 0, 'reason') ??
    field(body, 'error', 'status') ??
    field(body, 'error', 'code')
  );
}

/** Reads a body up to a limit: what a server sends is not trusted. */
async function bodyOf(response: Response): Promise<Json> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
