import { field } from '../../../scripts/lib/api-client.ts';
import { secret } from '../log-watch.ts';
import { until } from '../until.ts';
import type { DocumentedApi, DocumentedOperation, DocumentedParameter } from './documented.ts';

/** Use of one operation by a reader who tries the examples of the document one after the other. */
export interface Step {
  /** For example `POST /calendars/{id}`. */
  try: string;
  /**
   * Parameters and fields of the body (at any depth) whose value comes from an earlier response,
   * each with the name under which that value is known. Added to `FROM_SERVER` and `IDS`.
   */
  from?: Readonly<Record<string, string>>;
  /** Fields of the response that are known from then on: name and path, or how to find it. */
  saves?: Readonly<Record<string, string | ((body: unknown) => unknown)>>;
  /**
   * True if the reader repeats the request until all that `saves` names is in the response, because
   * a worker has to do something first.
   */
  waits?: boolean;
  /** The values of `saves` that are secrets. */
  secrets?: readonly string[];
  /** True if the optional parameters are sent together, in the only request. */
  once?: boolean;
  /** Name of the access token that is sent; default: `token`. */
  as?: string;
  /** Files by media type that the reader has: bytes in place of an example that only names them. */
  files?: Readonly<Record<string, () => FormData | string>>;
}

/** Names of parameters and fields whose value always comes from the server. */
const FROM_SERVER: Readonly<Record<string, string>> = {
  client_id: 'client_id',
  client_secret: 'client_secret',
  code: 'code',
  access_token: 'token',
  keep_access_token: 'token',
  token_id: 'token_id',
  secret_id: 'webhook_secret',
  account_id: 'account',
  calendar_id: 'calendar',
  event_id: 'event',
  message_id: 'message',
  thread_id: 'thread',
  folder_id: 'folder',
  label_id: 'folder',
  file_id: 'file',
  job_status_id: 'job',
  cursor: 'cursor',
  group: 'group',
  'If-Match': 'etag',
  account: 'account',
  application: 'application',
  callback_url: 'receiver',
  api_key: 'sendgrid_key',
  base_url: 'sendgrid_url',
};

/** The objects that `{id}` names, by the beginning of the path. */
const IDS: readonly (readonly [path: string, known: string])[] = [
  ['/a/{client_id}/accounts/', 'account'],
  ['/a/{client_id}/conferencing/', 'conferencing'],
  ['/a/{client_id}/webhooks/', 'webhook'],
  ['/calendars/', 'calendar'],
  ['/connect/grants/', 'account'],
  ['/contacts/', 'contact'],
  ['/drafts/', 'draft'],
  ['/events/', 'event'],
  ['/files/', 'file'],
  ['/folders/', 'folder'],
  ['/labels/', 'label'],
  ['/messages/', 'message'],
  ['/threads/', 'thread'],
  ['/admin/accounts/', 'account'],
  ['/admin/applications/', 'application'],
  ['/admin/jobs/', 'job'],
  ['/admin/webhooks/', 'webhook'],
];

/** Parameter that is tried only if a list has a second page. */
const PAGE_TOKEN = 'page_token';

/** One request of a reader. */
interface Attempt {
  parameters: readonly DocumentedParameter[];
  body: readonly [type: string, example: unknown] | undefined;
}

interface Answer {
  query: URLSearchParams;
  status: number;
  type: string;
  etag: string | null;
  text: string;
}

/** Sends the examples of documents as they are, with ids and tokens from earlier responses. */
export class ExampleReader {
  /** Values from responses, and the credentials that the operator of the server gave. */
  readonly known: Map<string, string>;
  readonly #url: string;
  readonly #api: DocumentedApi;
  #keys = 0;

  constructor(url: string, api: DocumentedApi, known: Map<string, string>) {
    this.known = known;
    this.#url = url;
    this.#api = api;
  }

  /**
   * Sends the requests of a step: that without optional parameters, then each optional parameter of
   * a GET alone, and those of other operations together.
   * @returns what is wrong with the responses, one line each
   */
  async perform(step: Step): Promise<string[]> {
    const operation = this.#api.operations.get(step.try);
    if (!operation) return [`${step.try} is not in the document`];
    const faults: string[] = [];
    for (const [at, attempt] of attemptsOf(operation, step).entries()) {
      const { answer, found } = await this.#until(
        operation,
        attempt,
        at === 0 ? step : { ...step, saves: {}, waits: false },
      );
      const shown = answer.query.size > 0 ? `${step.try}?${answer.query.toString()}` : step.try;
      const wrong = found
        ? this.#api.faultsOf(step.try, answer.query, answer)
        : [`lacks ${Object.keys(step.saves ?? {}).join(', ')}: ${answer.text.slice(0, 300)}`];
      faults.push(...wrong.map((fault) => `${shown}: ${fault}`));
    }
    if (operation.parameters.some(({ name }) => name === PAGE_TOKEN))
      faults.push(...(await this.#secondPage(operation, step)));
    return faults;
  }

  /** Reads the first entry of a list, and the page after it if there is one. */
  async #secondPage(operation: DocumentedOperation, step: Step): Promise<string[]> {
    const parameters = operation.parameters
      .filter(({ name, required }) => required || name === 'limit' || name === PAGE_TOKEN)
      .map((one) => (one.name === 'limit' ? { ...one, example: 1 } : one));
    const first = parameters.filter(({ name }) => name !== PAGE_TOKEN);
    const page = await this.#send(operation, { parameters: first, body: undefined }, step);
    const token = field(JSON.parse(page.text), 'next_page_token');
    if (typeof token !== 'string') return [];
    this.known.set(PAGE_TOKEN, token);
    const from = { ...step.from, [PAGE_TOKEN]: PAGE_TOKEN };
    const next = await this.#send(operation, { parameters, body: undefined }, { ...step, from });
    return this.#api.faultsOf(step.try, next.query, next);
  }

  async #until(operation: DocumentedOperation, attempt: Attempt, step: Step) {
    const once = async () => {
      const answer = await this.#send(operation, attempt, step);
      return { answer, found: this.#save(step, answer) };
    };
    if (!step.waits) return once();
    return until(`what ${step.try} shows later`, async () => {
      const result = await once();
      return result.found || result.answer.status >= 400 ? result : null;
    });
  }

  async #send(operation: DocumentedOperation, attempt: Attempt, step: Step): Promise<Answer> {
    const query = new URLSearchParams();
    const headers = new Headers(this.#credentials(operation, step));
    let { path } = operation;
    for (const parameter of attempt.parameters) {
      const value = this.#valueOf(parameter, operation, step);
      if (parameter.in === 'path')
        path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === 'query') query.set(parameter.name, value);
      else headers.set(parameter.name, value);
    }
    const [type, example] = attempt.body ?? [];
    const file = type === undefined ? undefined : step.files?.[type]?.();
    if (type !== undefined && !(file instanceof FormData)) headers.set('Content-Type', type);
    const body = file ?? (type === undefined ? undefined : this.#textOf(type, example, step));
    const response = await fetch(`${this.#url}${path}?${query.toString()}`, {
      method: operation.method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    });
    return {
      query,
      status: response.status,
      type: (response.headers.get('content-type') ?? '').split(';')[0] ?? '',
      etag: response.headers.get('etag'),
      text: await textOf(response),
    };
  }

  #credentials(
    { credentials }: DocumentedOperation,
    { as = 'token' }: Step,
  ): Record<string, string> {
    const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
    const [id, password] = [this.#get('client_id'), this.#get('client_secret')];
    if (credentials === 'accessToken') return { authorization: `Bearer ${this.#get(as)}` };
    if (credentials === 'operatorToken')
      return { authorization: `Bearer ${this.#get('operator_token')}` };
    if (credentials === 'application') return basic(`${id}:${password}`);
    if (credentials === 'applicationSecret') return basic(`${password}:`);
    return {};
  }

  #valueOf({ name, example }: DocumentedParameter, { path }: DocumentedOperation, step: Step) {
    const isId = name === 'id' && path.includes('{id}');
    const known =
      step.from?.[name] ??
      (isId ? IDS.find(([beginning]) => path.startsWith(beginning))?.[1] : FROM_SERVER[name]);
    // A key may be used for one request only.
    if (name === 'Idempotency-Key') return `${String(example)}-${(this.#keys += 1)}`;
    return known === undefined ? String(example) : this.#get(known);
  }

  #textOf(type: string, example: unknown, step: Step): string {
    return type === 'application/json'
      ? JSON.stringify(this.#filled(example, step))
      : String(example);
  }

  /** The example of a body in which the values that come from the server are replaced. */
  #filled(example: unknown, step: Step): unknown {
    if (Array.isArray(example)) return example.map((one) => this.#filled(one, step));
    if (typeof example !== 'object' || example === null) return example;
    return Object.fromEntries(
      Object.entries(example).map(([key, value]) => {
        const known = step.from?.[key] ?? FROM_SERVER[key];
        if (known === undefined) return [key, this.#filled(value, step)];
        return [key, Array.isArray(value) ? [this.#get(known)] : this.#get(known)];
      }),
    );
  }

  /** Remembers what the step saves; false if the response lacks some of it. */
  #save({ saves = {}, secrets = [] }: Step, { text, etag }: Answer): boolean {
    // Express adds weak tags to other responses.
    if (etag?.startsWith('"')) this.known.set('etag', etag);
    const isJson = /^[[{]/.test(text);
    const body: unknown = isJson ? JSON.parse(text) : undefined;
    return Object.entries(saves).every(([name, path]) => {
      const value = typeof path === 'string' ? field(body, ...path.split('.')) : path(body);
      if (typeof value !== 'string' || value === '') return false;
      this.known.set(name, secrets.includes(name) ? secret(name, value) : value);
      return true;
    });
  }

  #get(name: string): string {
    return this.known.get(name) ?? `no ${name} yet`;
  }
}

function attemptsOf({ method, parameters, bodies }: DocumentedOperation, step: Step): Attempt[] {
  const required = parameters.filter((one) => one.required);
  const optional = parameters.filter((one) => !one.required && one.name !== PAGE_TOKEN);
  const together = step.once === true || method === 'DELETE' || optional.length === 0;
  const sets = together
    ? [parameters]
    : method === 'GET'
      ? [required, ...optional.map((one) => [...required, one])]
      : [required, parameters];
  const kinds = bodies.length > 0 ? bodies : [undefined];
  return sets.flatMap((set) => kinds.map((body) => ({ parameters: set, body })));
}

/** The text of a response; of a stream that does not end, what comes first. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return response.text();
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(first?.value as Uint8Array | undefined);
}
