import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** What becomes of a piece of a conversation. */
export type Verdict =
  | 'pass'
  /** It and everything after it, in both directions, is lost without a word. */
  | 'swallow'
  /** It is lost, and both ends are told by a reset. */
  | 'reset'
  /** It arrives, then both ends get a reset. */
  | 'pass-and-reset';

/** A piece as it arrives at the proxy. */
export interface Piece {
  /** Null: the connection has been accepted, nothing has been said yet. */
  from: 'client' | 'server' | null;
  bytes: Buffer;
}

/** Judges the pieces of one conversation, one after the other; made anew for each. */
export type Judge = (piece: Piece) => Verdict;

const lenient: Judge = () => 'pass';
const NOTHING = Buffer.alloc(0);

interface Pair {
  client: Socket;
  server: Socket;
  swallowed: boolean;
  /** What the client said first; null: nothing yet. */
  first: Buffer | null;
  /** Pieces that wait for the light. */
  held: { to: Socket; bytes: Buffer }[];
}

/**
 * Stands between two programs on loopback and fails as networks do: it cuts a conversation at any point of it, or
 * leaves everybody without an answer for a while. Bytes are judged, not changed.
 */
export class TcpProxy {
  readonly #pairs = new Set<Pair>();
  readonly #server: net.Server;
  #isDark: ((first: Buffer) => boolean) | null = null;
  /** Conversations so far. */
  connections = 0;

  private constructor(
    private readonly target: number | string,
    private readonly judgeNext: () => Judge,
  ) {
    this.#server = net.createServer({ allowHalfOpen: true }, (client) => this.#connect(client));
  }

  /**
   * @param target a port on loopback, or the path of a socket
   * @param judgeNext called for each conversation; default: everything passes
   */
  static async start(
    target: number | string,
    judgeNext: () => Judge = () => lenient,
  ): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, judgeNext);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * From now on nothing gets through and nobody is told, as when a cable is pulled; until `light`.
   * @param which whose conversations, by what the client said first; default: all
   */
  dark(which: (first: Buffer) => boolean = () => true): void {
    this.#isDark = which;
  }

  /** The cable is back: what was said meanwhile arrives late, as TCP repeats it. */
  light(): void {
    this.#isDark = null;
    for (const { client, server, held } of this.#pairs) {
      for (const { to, bytes } of held.splice(0)) to.write(bytes);
      client.resume();
      server.resume();
    }
  }

  /** Ends every conversation by a reset; new ones get through. */
  reset(): void {
    for (const pair of this.#pairs) this.#drop(pair);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.reset();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  #drop({ client, server }: Pair): void {
    this.#reset(client);
    this.#reset(server);
  }

  /** Only TCP knows resets. */
  #reset(socket: Socket): void {
    if (socket.remoteAddress === undefined) socket.destroy();
    else socket.resetAndDestroy();
  }

  #connect(client: Socket): void {
    this.connections += 1;
    const target =
      typeof this.target === 'string'
        ? { path: this.target }
        : { port: this.target, host: '127.0.0.1' };
    const server = net.connect({ ...target, allowHalfOpen: true });
    const pair: Pair = { client, server, swallowed: false, first: null, held: [] };
    this.#pairs.add(pair);
    const judge = this.judgeNext();
    this.#forward(pair, 'client', judge);
    this.#forward(pair, 'server', judge);
    const verdict = judge({ from: null, bytes: NOTHING });
    if (verdict === 'reset' || verdict === 'pass-and-reset') this.#drop(pair);
    pair.swallowed = verdict === 'swallow';
  }

  #forward(pair: Pair, from: 'client' | 'server', judge: Judge): void {
    const [source, sink] =
      from === 'client' ? [pair.client, pair.server] : [pair.server, pair.client];
    source.setNoDelay(true);
    source.on('data', (bytes: Buffer) => {
      if (pair.swallowed) return;
      if (from === 'client') pair.first ??= bytes;
      if (pair.first && this.#isDark?.(pair.first)) {
        pair.held.push({ to: sink, bytes });
        source.pause();
        return;
      }
      const verdict = judge({ from, bytes });
      if (verdict === 'swallow') pair.swallowed = true;
      else if (verdict === 'reset') this.#drop(pair);
      else if (verdict === 'pass') sink.write(bytes);
      else sink.write(bytes, () => this.#drop(pair));
    });
    source.on('end', () => {
      if (!pair.swallowed) sink.end();
    });
    source.on('error', () => this.#reset(sink));
    source.on('close', () => {
      this.#pairs.delete(pair);
      sink.destroy();
    });
  }
}
