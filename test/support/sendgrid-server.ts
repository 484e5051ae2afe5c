import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request to `POST /v3/mail/send` that was accepted. */
export interface TakenMail {
  personalizations: { to: Address[]; cc?: Address[]; bcc?: Address[] }[];
  from: Address;
  reply_to?: Address;
  reply_to_list?: Address[];
  subject: string;
  content: { type: string; value: string }[];
  attachments?: Record<string, string>[];
  headers: Record<string, string>;
  custom_args: Record<string, string>;
  [key: string]: unknown;
}

interface Address {
  email: string;
  name?: string;
}

interface Sender {
  id: number;
  from_email: string;
  verified: boolean;
  [key: string]: unknown;
}

/** A request as it arrived. */
export interface SendGridRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

type Behaviour = (response: ServerResponse, asked: SendGridRequest, socket: Socket) => void;

const errors = (...messages: string[]) => ({
  errors: messages.map((message) => ({ message, field: null, help: null })),
});
/** The original error text of SendGrid. */
export const NOT_VERIFIED =
  'The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.';
export const NO_CREDITS = 'Maximum credits exceeded';
const BAD_KEY = 'The provided authorization grant is invalid, expired, or revoked';

/**
 * Stands in for the SendGrid v3 API, as documented: keys, scopes, verified senders, authenticated
 * domains, sending with its error responses, and the Email Activity add-on.
 */
export class SendGridServer {
  key = 'SG.good-key';
  scopes = ['mail.send', 'sender_verification_eligible'];
  senders: Sender[] = [];
  domains: { domain: string; valid: boolean }[] = [];
  /** True if the account has the Email Activity add-on. */
  hasActivity = false;
  readonly mails: TakenMail[] = [];
  readonly asked: SendGridRequest[] = [];
  /**
   * Answers the next requests whose path starts with `path`, instead of the API. Removed after
   * `times` requests.
   */
  readonly faults: { path: string; times: number; behave: Behaviour }[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const asked = { method, url, headers, body: Buffer.concat(chunks).toString() };
      this.asked.push(asked);
      const fault = this.faults.find(({ path, times }) => times > 0 && url.startsWith(path));
      if (fault) {
        fault.times -= 1;
        fault.behave(response, asked, socket);
      } else {
        const [status, body, extra] = this.#answer(asked);
        response.writeHead(status, { 'content-type': 'application/json', ...extra });
        response.end(body === undefined ? undefined : JSON.stringify(body));
      }
    });
  });

  static async start(): Promise<SendGridServer> {
    const server = new SendGridServer();
    server.#server.on('connection', (socket) => server.#sockets.add(socket));
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** http://127.0.0.1:port */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Restores the initial state. */
  reset(): void {
    this.key = 'SG.good-key';
    this.scopes = ['mail.send', 'sender_verification_eligible'];
    this.senders = [];
    this.domains = [];
    this.hasActivity = false;
    for (const list of [this.mails, this.asked, this.faults]) list.length = 0;
  }

  /** Makes `behave` answer the next requests to a path. */
  fail(path: string, behave: Behaviour, times = 1): void {
    this.faults.push({ path, times, behave });
  }

  /** Sets the response to the next request to a path. */
  answer(
    path: string,
    status: number,
    body: object = {},
    headers: Record<string, string> = {},
  ): void {
    this.fail(path, (response) => response.writeHead(status, headers).end(JSON.stringify(body)));
  }

  /** Follows the link of the verification mail, as the owner of the address does. */
  follow(email: string): void {
    for (const sender of this.senders) if (sender.from_email === email) sender.verified = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer({
    method,
    url,
    headers,
    body,
  }: SendGridRequest): [number, unknown?, Record<string, string>?] {
    if (headers.authorization !== `Bearer ${this.key}`) return [401, errors(BAD_KEY)];
    const { pathname, searchParams } = new URL(url, this.origin);
    switch (`${method} ${pathname.replace(/\/\d+$/, '/:id')}`) {
      case 'GET /v3/scopes':
        return [200, { scopes: this.scopes }];
      case 'GET /v3/whitelabel/domains':
        return [
          200,
          this.domains.filter(({ domain }) => domain.includes(searchParams.get('domain') ?? '')),
        ];
      case 'GET /v3/verified_senders':
        return [200, { results: this.#page(searchParams) }];
      case 'POST /v3/verified_senders':
        return this.#createSender(JSON.parse(body) as Record<string, string>);
      case 'DELETE /v3/verified_senders/:id':
        return this.#deleteSender(Number(pathname.split('/').at(-1)));
      case 'GET /v3/messages':
        return this.#activity(searchParams.get('query') ?? '');
      case 'POST /v3/mail/send':
        return this.#send(JSON.parse(body) as TakenMail);
      default:
        return [404, errors('resource not found')];
    }
  }

  #page(query: URLSearchParams): Sender[] {
    const last = Number(query.get('lastSeenID') ?? 0);
    return this.senders.filter(({ id }) => id > last).slice(0, Number(query.get('limit') ?? 50));
  }

  #createSender(sender: Record<string, string>): [number, unknown] {
    const missing = ['nickname', 'from_email', 'reply_to'].filter((field) => !sender[field]);
    if (missing.length > 0) return [400, errors(...missing.map((field) => `${field} is required`))];
    const email = sender['from_email'] ?? '';
    if (this.senders.some(({ from_email }) => from_email === email))
      return [400, errors('already exists')];
    const made = { ...sender, id: this.senders.length + 1, from_email: email, verified: false };
    this.senders.push(made);
    return [201, made];
  }

  #deleteSender(id: number): [number, unknown?] {
    const index = this.senders.findIndex((sender) => sender.id === id);
    if (index === -1) return [404, errors('not found')];
    this.senders.splice(index, 1);
    return [204];
  }

  #activity(query: string): [number, unknown] {
    if (!this.hasActivity) return [403, errors('authorization required')];
    const [, argument = '', value] = /^\(unique_args\['(\w+)'\]="(.*)"\)$/.exec(query) ?? [];
    const messages = this.mails.filter(({ custom_args }) => custom_args[argument] === value);
    return [200, { messages: messages.map(({ subject }) => ({ msg_id: 'x', subject })) }];
  }

  #send(mail: TakenMail): [number, unknown?, Record<string, string>?] {
    const problems = problemsOf(mail);
    if (problems.length > 0) return [400, errors(...problems)];
    const [, domain = ''] = mail.from.email.split('@');
    const taken =
      this.domains.some((one) => one.valid && one.domain === domain) ||
      this.senders.some((one) => one.verified && one.from_email === mail.from.email);
    if (!taken) return [403, errors(NOT_VERIFIED)];
    this.mails.push(mail);
    return [202, undefined, { 'x-message-id': `sg${this.mails.length}` }];
  }
}

const RESERVED =
  /^(x-sg-id|x-sg-eid|received|dkim-signature|content-type|content-transfer-encoding|to|from|subject|reply-to|cc|bcc)$/i;

/** The faults for which the documentation says that the request is refused. */
function problemsOf({ personalizations, subject, content, headers, ...rest }: TakenMail): string[] {
  const everybody = personalizations.flatMap(({ to, cc = [], bcc = [] }) => [...to, ...cc, ...bcc]);
  const emails = everybody.map(({ email }) => email.toLowerCase());
  const problems: [boolean, string][] = [
    [
      personalizations.some(({ to }) => to.length === 0),
      'The to array is required for all personalization objects',
    ],
    [personalizations.length === 0, 'You must have at least one personalization.'],
    [
      emails.length > 1000,
      'There is a limit of 1000 total recipients (to + cc + bcc) per request.',
    ],
    [
      new Set(emails).size < emails.length,
      'Each unique email address should only be included once.',
    ],
    [!subject, 'The subject is required.'],
    [
      content.length === 0 || content.some(({ value }) => !value),
      'The content value must be a string at least one character in length.',
    ],
    [
      content.some(({ type }, index) => type === 'text/plain' && index > 0),
      'The text/plain content must be first',
    ],
    [
      Object.keys(headers).some((name) => RESERVED.test(name)),
      'You may not overwrite reserved headers',
    ],
    [
      rest.reply_to !== undefined && rest.reply_to_list !== undefined,
      'reply_to is mutually exclusive with reply_to_list',
    ],
  ];
  return problems.filter(([wrong]) => wrong).map(([, message]) => message);
}
