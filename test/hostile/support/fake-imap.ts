import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE, TEST_KEY } from '../../support/tls-certificate.ts';
import {
  type FakeFolder,
  type FakeMessage,
  fetchAnswer,
  type StoredMessage,
  usualFolders,
} from './fake-mailbox.ts';

/** A command as received. */
export interface ImapCommand {
  tag: string;
  /**
   * Upper case. `UID FETCH` has its space. `CONNECT` stands for a new connection, before the first
   * command.
   */
  name: string;
  /** The text after the name. Literals appear in it as quoted strings. */
  text: string;
  /** The bytes of the literals, in order. */
  literals: readonly Buffer[];
  /** Number of the connection, counted from 1. */
  connection: number;
}

/**
 * What the server sends instead of its usual response: raw bytes, including the tagged response if
 * there is to be one.
 */
export interface ImapReply {
  /** Sent piece by piece, as fast as the client reads. May be endless. */
  send?: string | Iterable<string | Buffer>;
  /**
   * What the server does afterwards. Default: it continues. After `silence` it answers no command.
   */
  then?: 'close' | 'silence';
}

export interface FakeImapOptions {
  /** The only accepted password. Default: any user name and password are accepted. */
  password?: string;
  /** TLS from the first byte, with the test certificate. Default: no encryption. */
  tls?: boolean;
  /** A scripted response, or `undefined` to respond as a well-behaved server. */
  answer?(command: ImapCommand): ImapReply | undefined;
}

const CAPABILITIES = 'IMAP4rev1 ID IDLE UIDPLUS LITERAL+ NAMESPACE UNSELECT';

/**
 * An IMAP server on 127.0.0.1 that returns what a test puts into it, true or not. All users have
 * the same mailbox.
 */
export class FakeImap {
  /** Every command, in order of arrival. */
  readonly commands: ImapCommand[] = [];
  readonly folders = usualFolders();
  connections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #talks = new Set<Talk>();
  readonly #server: Server;

  private constructor(readonly options: FakeImapOptions) {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(options: FakeImapOptions = {}): Promise<FakeImap> {
    const made = new FakeImap(options);
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** @throws {Error} if there is no such folder */
  folder(path = 'INBOX'): FakeFolder {
    const folder = this.folders.get(path);
    if (!folder) throw new Error(`the fake server has no folder ${path}`);
    return folder;
  }

  /** Adds messages to the inbox and notifies clients that wait in IDLE. */
  deliver(...messages: readonly FakeMessage[]): void {
    for (const message of messages) this.folder().add(message);
    for (const talk of this.#talks) talk.notify();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    const connection = ++this.connections;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    const wire = this.options.tls
      ? new TLSSocket(socket, { isServer: true, key: TEST_KEY, cert: TEST_CERTIFICATE })
      : socket;
    wire.on('error', () => undefined);
    const talk = new Talk(this, wire, connection);
    this.#talks.add(talk);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#talks.delete(talk);
    });
    talk.begin();
  }
}

/** A command with literals that have not completely arrived. */
interface Partial {
  text: string;
  literals: Buffer[];
}

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
const words = (text: string): string[] =>
  [...text.matchAll(/"((?:[^"\\]|\\.)*)"|\([^)]*\)|[^\s()]+/g)].map((match) =>
    match[1] === undefined ? match[0] : match[1].replaceAll(/\\(.)/g, '$1'),
  );

class Talk {
  #buffer = Buffer.alloc(0);
  #partial: Partial = { text: '', literals: [] };
  #selected: FakeFolder | null = null;
  #idle: string | null = null;
  #isOver = false;
  #queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly server: FakeImap,
    private readonly wire: Socket,
    private readonly connection: number,
  ) {}

  begin(): void {
    this.wire.on('data', (chunk: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, chunk]);
      this.#read();
    });
    this.#take({ tag: '*', name: 'CONNECT', text: '', literals: [], connection: this.connection });
  }

  notify(): void {
    if (this.#idle !== null && this.#selected)
      this.#say(`* ${this.#selected.messages.length} EXISTS`);
  }

  #read(): void {
    for (;;) {
      const end = this.#buffer.indexOf('\r\n');
      if (end < 0) return;
      const line = this.#buffer.subarray(0, end).toString();
      const literal = /\{(\d+)(\+?)\}$/.exec(line);
      const size = Number(literal?.[1] ?? 0);
      if (literal && this.#buffer.length < end + 2 + size) {
        // The continuation is requested once, because the next piece brings the rest of the
        // literal.
        if (!literal[2] && this.#buffer.length === end + 2) this.#say('+ go on');
        return;
      }
      const bytes = this.#buffer.subarray(end + 2, end + 2 + size);
      this.#buffer = this.#buffer.subarray(end + 2 + size);
      this.#partial.text += literal ? line.slice(0, literal.index) + quote(bytes.toString()) : line;
      if (literal) {
        this.#partial.literals.push(Buffer.from(bytes));
        continue;
      }
      const { text, literals } = this.#partial;
      this.#partial = { text: '', literals: [] };
      this.#line(text, literals);
    }
  }

  #line(line: string, literals: readonly Buffer[]): void {
    if (this.#idle !== null && /^done$/i.test(line)) {
      this.#say(`${this.#idle} OK done`);
      this.#idle = null;
      return;
    }
    const [, tag = '*', name = '', text = ''] = /^(\S+) ((?:UID )?\S+) ?(.*)$/is.exec(line) ?? [];
    this.#take({ tag, name: name.toUpperCase(), text, literals, connection: this.connection });
  }

  #take(command: ImapCommand): void {
    if (command.name !== 'CONNECT') this.server.commands.push(command);
    this.#queue = this.#queue.then(() => this.#answer(command));
  }

  async #answer(command: ImapCommand): Promise<void> {
    if (this.#isOver || this.wire.destroyed) return;
    const reply = this.server.options.answer?.(command);
    if (reply === undefined) return this.#usual(command);
    const { send = [], then } = reply;
    await this.#sendAll(typeof send === 'string' ? [send] : send);
    if (then) this.#isOver = true;
    if (then === 'close') this.wire.end();
  }

  /** Waits for the client, so that the client's reading speed limits a flood. */
  async #sendAll(pieces: Iterable<string | Buffer>): Promise<void> {
    for (const piece of pieces) {
      if (this.wire.destroyed) return;
      // A client that reads at once must not block the rest of this process.
      await (this.wire.write(piece) ? setImmediate() : this.#drained());
    }
  }

  /** Resolves when the client has read everything written, or has disconnected. */
  #drained(): Promise<void> {
    const { wire } = this;
    return new Promise((resolve) => {
      // `close` is emitted once, and may have been emitted already.
      if (wire.destroyed) return resolve();
      const done = () => {
        wire.off('drain', done).off('close', done);
        resolve();
      };
      wire.on('drain', done).on('close', done);
    });
  }

  #say(line: string | Buffer): void {
    this.wire.write(line);
    this.wire.write('\r\n');
  }

  /** Sends the untagged lines, then a tagged OK. */
  #ok({ tag, name }: ImapCommand, lines: readonly string[] = [], code = ''): void {
    for (const line of lines) this.#say(`* ${line}`);
    this.#say(`${tag} OK ${code}${name} completed`);
  }

  #usual(command: ImapCommand): void {
    const { tag, name, text } = command;
    switch (name) {
      case 'CONNECT':
        return this.#say(`* OK [CAPABILITY ${CAPABILITIES}] ready`);
      case 'CAPABILITY':
        return this.#ok(command, [`CAPABILITY ${CAPABILITIES}`]);
      case 'LOGIN':
        return this.#login(command);
      case 'ID':
        return this.#ok(command, ['ID NIL']);
      case 'NAMESPACE':
        return this.#ok(command, ['NAMESPACE (("" "/")) NIL NIL']);
      case 'LIST':
      case 'LSUB':
        return this.#list(command);
      case 'STATUS':
        return this.#status(command);
      case 'SELECT':
      case 'EXAMINE':
        return this.#open(command);
      case 'CLOSE':
      case 'UNSELECT':
        this.#selected = null;
        return this.#ok(command);
      case 'CREATE':
        return this.#ok(command);
      case 'IDLE':
        this.#idle = tag;
        return this.#say('+ idling');
      case 'LOGOUT':
        this.#ok(command, ['BYE see you']);
        return void this.wire.end();
      case 'APPEND':
        return this.#append(command);
      case 'NOOP':
        return this.#ok(
          command,
          this.#selected ? [`${this.#selected.messages.length} EXISTS`] : [],
        );
      default:
        return this.#inFolder(command, this.#selected, words(text));
    }
  }

  #login(command: ImapCommand): void {
    const [, password] = words(command.text);
    const { password: wanted } = this.server.options;
    if (wanted === undefined || password === wanted) return this.#ok(command);
    this.#say(`${command.tag} NO [AUTHENTICATIONFAILED] wrong password`);
  }

  #list(command: ImapCommand): void {
    const [, pattern = '*'] = words(command.text);
    const folders = [...this.server.folders.values()].filter(
      ({ path }) => pattern === '*' || pattern === '%' || pattern === path,
    );
    this.#ok(
      command,
      folders.map(({ path, attributes }) => `${command.name} (${attributes}) "/" ${quote(path)}`),
    );
  }

  #status(command: ImapCommand): void {
    const [path = ''] = words(command.text);
    const folder = this.server.folders.get(path);
    if (!folder) return this.#say(`${command.tag} NO [NONEXISTENT] no such folder`);
    const unseen = folder.messages.filter(({ flags }) => !flags.has(String.raw`\Seen`)).length;
    const { messages, uidNext, uidValidity } = folder;
    const items = `MESSAGES ${messages.length} UIDNEXT ${uidNext} UIDVALIDITY ${uidValidity} UNSEEN ${unseen}`;
    this.#ok(command, [`STATUS ${quote(path)} (${items})`]);
  }

  #open(command: ImapCommand): void {
    const [path = ''] = words(command.text);
    const folder = this.server.folders.get(path);
    this.#selected = folder ?? null;
    if (!folder) return this.#say(`${command.tag} NO [NONEXISTENT] no such folder`);
    const { messages, uidNext, uidValidity } = folder;
    const lines = [
      `${messages.length} EXISTS`,
      String.raw`FLAGS (\Seen \Answered \Flagged \Deleted \Draft)`,
      String.raw`OK [PERMANENTFLAGS (\Seen \Answered \Flagged \Deleted \Draft \*)] yes`,
      `OK [UIDVALIDITY ${uidValidity}] valid`,
      `OK [UIDNEXT ${uidNext}] next`,
    ];
    this.#ok(command, lines, command.name === 'EXAMINE' ? '[READ-ONLY] ' : '[READ-WRITE] ');
  }

  #append(command: ImapCommand): void {
    const [path = ''] = words(command.text);
    const folder = this.server.folders.get(path);
    const raw = command.literals.at(-1);
    if (!folder || !raw) return this.#say(`${command.tag} NO [TRYCREATE] no such folder`);
    const flags = /\(([^)]*)\)/.exec(command.text)?.[1]?.split(' ').filter(Boolean) ?? [];
    const uid = folder.add({ raw, flags });
    this.#ok(command, [], `[APPENDUID ${folder.uidValidity} ${uid}] `);
  }

  #inFolder(command: ImapCommand, folder: FakeFolder | null, parts: readonly string[]): void {
    const { tag, name, text } = command;
    if (!folder) return this.#say(`${tag} BAD what?`);
    const byUid = name.startsWith('UID ');
    const [set = ''] = parts;
    switch (name.replace('UID ', '')) {
      case 'SEARCH': {
        const found = searched(folder, text);
        const numbers = found.map(([position, { uid }]) => (byUid ? uid : position));
        return this.#ok(command, [['SEARCH', ...numbers].join(' ')]);
      }
      case 'FETCH': {
        const items = `${byUid ? 'UID ' : ''}${text.slice(set.length).replace(/^(.*)\bUID\b/s, '$1')}`;
        const wanted = !byUid && /\bUID\b/.test(text.slice(set.length)) ? `UID ${items}` : items;
        for (const [position, message] of folder.select(set, byUid))
          this.wire.write(fetchAnswer(position, message, wanted));
        return this.#ok(command);
      }
      case 'STORE': {
        const lines = folder
          .select(set, byUid)
          .map(([position, message]) => stored(position, message, text));
        return this.#ok(command, lines);
      }
      case 'COPY':
      case 'MOVE':
      case 'EXPUNGE':
        return this.#say(`${tag} NO this server only gives out`);
      default:
        return this.#say(`${tag} BAD what?`);
    }
  }
}

/** Evaluates UID and HEADER only. Every other condition is true for every message. */
function searched(folder: FakeFolder, text: string): [number, StoredMessage][] {
  const uids = /\bUID ([\d:,*]+)/i.exec(text)?.[1];
  const all = folder.select(uids ?? '1:*', uids !== undefined);
  const [, value] = /HEADER \S+ (?:"([^"]*)"|\S+)/i.exec(text) ?? [];
  return value === undefined ? all : all.filter(([, { raw }]) => raw.includes(value));
}

function stored(position: number, { flags, uid }: StoredMessage, text: string): string {
  const names = /\(([^)]*)\)/.exec(text)?.[1]?.split(' ').filter(Boolean) ?? [];
  for (const name of names) {
    if (text.includes('-FLAGS')) flags.delete(name);
    else flags.add(name);
  }
  return `${position} FETCH (UID ${uid} FLAGS (${[...flags].join(' ')}))`;
}
