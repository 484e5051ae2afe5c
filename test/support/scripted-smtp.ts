import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE, TEST_KEY } from './tls-certificate.ts';

/**
 * The steps that a script can answer. `block` is the first piece of the content, `message` is the
 * final dot.
 */
export type SmtpStep =
  | 'connect'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'block'
  | 'message'
  | 'rset'
  | 'quit';

/**
 * A reply, or an end of the conversation with an optional reply before it, or a delayed reply.
 * After `silence` the server reads nothing more. `drip` sends one byte of a reply every few
 * milliseconds, without end.
 */
export type SmtpAnswer =
  | string
  | { say?: string; end: 'close' | 'reset' | 'silence' | 'drip' }
  | { say: string; afterMs: number };

export interface SmtpScript {
  /**
   * Answers a step; `undefined` for the answer of a well-behaved server. `argument` is the command
   * line, and `connection` counts from 1.
   */
  answer?(step: SmtpStep, argument: string, connection: number): SmtpAnswer | undefined;
  /** Extensions in the answer to EHLO; default PIPELINING, 8BITMIME, SIZE and AUTH. */
  extensions?: readonly string[];
  tls?: 'implicit' | 'starttls';
  /** Address to listen on; default 127.0.0.1. */
  host?: string;
}

export interface ReceivedMessage {
  from: string;
  to: string[];
  /** The content without the dots added for transport and without the final dot. */
  content: string;
  connection: number;
  /** Number of pieces in which the content and its final dot arrived. */
  pieces: number;
}

const DEFAULTS: Readonly<Record<SmtpStep, string>> = {
  connect: '220 scripted.test ESMTP',
  ehlo: '',
  starttls: '220 2.0.0 go ahead',
  auth: '235 2.7.0 welcome',
  mail: '250 2.1.0 sender ok',
  rcpt: '250 2.1.5 recipient ok',
  data: '354 go ahead',
  block: '',
  message: '250 2.0.0 Ok: queued as 4711',
  rset: '250 2.0.0 flushed',
  quit: '221 2.0.0 bye',
};
const EXTENSIONS = ['PIPELINING', '8BITMIME', 'SIZE 100000000', 'AUTH PLAIN LOGIN XOAUTH2'];

/**
 * A mail server on loopback that follows its script byte for byte, and keeps the messages it
 * accepted.
 */
export class ScriptedSmtp {
  readonly messages: ReceivedMessage[] = [];
  /** Every command line, in the order of arrival. */
  readonly commands: string[] = [];
  /** The command lines that arrived without encryption. */
  readonly plain: string[] = [];
  connections = 0;
  readonly sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(readonly script: SmtpScript) {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(script: SmtpScript = {}): Promise<ScriptedSmtp> {
    const made = new ScriptedSmtp(script);
    made.#server.listen(0, script.host ?? '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    const connection = ++this.connections;
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    const tls = this.script.tls;
    const wire = tls === 'implicit' ? secured(socket) : socket;
    new Conversation(this, wire, connection, tls === 'starttls').begin();
  }
}

function secured(socket: Socket): TLSSocket {
  const tls = new TLSSocket(socket, { isServer: true, key: TEST_KEY, cert: TEST_CERTIFICATE });
  tls.on('error', () => undefined);
  return tls;
}

class Conversation {
  #buffer = '';
  /**
   * Pieces of the content so far. The first element is the line end before the content, so that an
   * empty message is recognized.
   */
  #content: string[] | null = null;
  #over = false;
  #from = '';
  #to: string[] = [];

  constructor(
    private readonly server: ScriptedSmtp,
    private wire: Socket,
    private readonly connection: number,
    private upgradable: boolean,
  ) {}

  begin(): void {
    this.#listen();
    this.#answer('connect', '');
  }

  #listen(): void {
    this.wire.on('data', (chunk: Buffer) => {
      this.#buffer += chunk.toString('latin1');
      this.#read();
    });
  }

  #read(): void {
    while (!this.#over) {
      if (this.#content !== null) {
        if (!this.#readContent(this.#content)) return;
        continue;
      }
      const end = this.#buffer.indexOf('\r\n');
      if (end < 0) return;
      const line = this.#buffer.slice(0, end);
      this.#buffer = this.#buffer.slice(end + 2);
      this.#command(Buffer.from(line, 'latin1').toString());
    }
  }

  /**
   * @returns true if the content is complete. Then the client sends nothing before the answer.
   */
  #readContent(content: string[]): boolean {
    if (this.#buffer === '') return false;
    if (content.length === 1 && this.#answer('block', '') === 'over') return false;
    content.push(this.#buffer);
    this.#buffer = '';
    if (!`${content.at(-2)}${content.at(-1)}`.endsWith('\r\n.\r\n')) return false;
    this.#content = null;
    const pieces = content.length - 1;
    const whole = content.join('').slice(2, -3).replaceAll('\r\n.', '\r\n').replace(/^\./, '');
    const taken = this.#answer('message', whole);
    if (taken.startsWith('2')) {
      const { connection } = this;
      this.server.messages.push({
        from: this.#from,
        to: this.#to,
        content: whole,
        connection,
        pieces,
      });
    }
    this.#to = [];
    return true;
  }

  #command(line: string): void {
    this.server.commands.push(line);
    if (!(this.wire instanceof TLSSocket)) this.server.plain.push(line);
    const [, from] = /^MAIL FROM:<(.*?)>/i.exec(line) ?? [];
    if (from !== undefined) {
      this.#from = from;
      this.#to = [];
      this.#answer('mail', line);
      return;
    }
    const [, to] = /^RCPT TO:<(.*?)>/i.exec(line) ?? [];
    if (to !== undefined) {
      if (this.#answer('rcpt', line).startsWith('2')) this.#to.push(to);
      return;
    }
    // A further line of a login.
    if (line === '' || line === '*') return void this.#answer('auth', line);
    const verb = /^\S*/.exec(line)?.[0].toLowerCase() ?? '';
    if (verb === 'data') this.#data(line);
    else if (verb === 'starttls' && this.upgradable) this.#upgrade(line);
    else if (verb === 'ehlo' || verb === 'auth' || verb === 'rset') this.#answer(verb, line);
    else if (verb === 'helo') this.#say('250 scripted.test');
    else if (verb === 'quit' && this.#answer('quit', line).startsWith('2')) this.wire.end();
    else if (verb !== 'quit') this.#say('500 5.5.1 what?');
  }

  #data(line: string): void {
    const scripted = this.server.script.answer?.('data', line, this.connection);
    if (scripted === undefined && this.#to.length === 0) this.#say('503 5.5.1 nobody to send to');
    else if (this.#do(scripted ?? DEFAULTS.data).startsWith('3')) this.#content = ['\r\n'];
  }

  #upgrade(line: string): void {
    if (!this.#answer('starttls', line).startsWith('2')) return;
    this.upgradable = false;
    this.wire.removeAllListeners('data');
    this.wire = secured(this.wire);
    this.#listen();
  }

  #answer(step: SmtpStep, argument: string): string {
    const scripted = this.server.script.answer?.(step, argument, this.connection);
    if (scripted === undefined && step === 'ehlo') return this.#do(this.#ehlo());
    return this.#do(scripted ?? DEFAULTS[step]);
  }

  #ehlo(): string {
    const { extensions = EXTENSIONS } = this.server.script;
    const all = ['scripted.test', ...extensions, ...(this.upgradable ? ['STARTTLS'] : [])];
    return all
      .map((line, index) => `250${index === all.length - 1 ? ' ' : '-'}${line}`)
      .join('\r\n');
  }

  /** @returns the reply that was sent, or "over" if no more will be sent */
  #do(answer: SmtpAnswer): string {
    if (typeof answer === 'string') {
      if (answer !== '') this.#say(answer);
      return answer;
    }
    if ('afterMs' in answer) {
      setTimeout(() => this.#say(answer.say), answer.afterMs);
      return answer.say;
    }
    if (answer.say !== undefined) this.wire.write(answer.say);
    this.#over = true;
    if (answer.end === 'close') this.wire.end();
    if (answer.end === 'reset') this.wire.resetAndDestroy();
    if (answer.end === 'drip') this.#drip();
    if (answer.end === 'silence') this.wire.pause();
    return 'over';
  }

  #drip(): void {
    const timer = setInterval(() => this.wire.write('2'), 20);
    this.wire.once('close', () => clearInterval(timer));
  }

  #say(reply: string): void {
    this.wire.write(`${reply}\r\n`);
  }
}
