import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** What the proxy does with a piece of a conversation. */
export type Verdict =
  | 'pass'
  /** Drops the piece and everything after it, in both directions, without a sign to either end. */
  | 'swallow'
  /** Drops the piece and resets both ends. */
  | 'reset'
  /** Forwards the piece, then resets both ends. */
  | 'pass-and-reset';

/** A piece of a conversation as it arrives at the proxy. */
export interface Piece {
  /** The sender, or `null` when the connection was accepted and nothing has been sent yet. */
  from: 'client' | 'server' | null;
  bytes: Buffer;
}

/** Decides on the pieces of one conversation, in order. Each conversation gets a new judge. */
export type Judge = (piece: Piece) => Verdict;

/** A port on loopback, or the path of a socket. */
type Target = number | string;

/** Chooses the target of a conversation by the client's first bytes. */
type Route = (first: Buffer) => Target;

const lenient: Judge = () => 'pass';
const NOTHING = Buffer.alloc(0);

interface Pair {
  client: Socket;
  server: Socket;
  swallowed: boolean;
  /** The first bytes of the client, or `null` if it has not sent any yet. */
  first: Buffer | null;
  /** Pieces that wait for the end of the outage. */
  held: { to: Socket; bytes: Buffer }[];
}

/**
 * A proxy between two programs on loopback that fails as networks do. It cuts a conversation at any
 * point, or blocks all traffic for a while. It inspects bytes but does not change them.
 */
export class TcpProxy {
  readonly #pairs = new Set<Pair>();
  readonly #server: net.Server;
  #target: Target | Route;
  readonly #judgeNext: () => Judge;
  #isDark: ((first: Buffer) => boolean) | null = null;
  /** Number of conversations so far. */
  connections = 0;

  private constructor(target: Target, judgeNext: () => Judge) {
    this.#target = target;
    this.#judgeNext = judgeNext;
    this.#server = net.createServer({ allowHalfOpen: true }, (client) => this.#connect(client));
  }

  /** @param judgeNext makes the judge of each conversation; default: every piece passes */
  static async start(target: Target, judgeNext: () => Judge = () => lenient): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, judgeNext);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Blocks all traffic until `light`, without a sign to either end, as when a cable is pulled.
   * @param which selects conversations by the client's first bytes; default: all
   */
  block(which: (first: Buffer) => boolean = () => true): void {
    this.#isDark = which;
  }

  /** Ends the outage. The blocked pieces arrive late, as when TCP repeats them. */
  unblock(): void {
    this.#isDark = null;
    for (const { client, server, held } of this.#pairs) {
      for (const { to, bytes } of held.splice(0)) to.write(bytes);
      client.resume();
      server.resume();
    }
  }

  /**
   * Leads connections that are opened from now on to another target. Open ones stay as they are.
   * @param target with a `Route`, the client has to speak first
   */
  aim(target: Target | Route): void {
    this.#target = target;
  }

  /**
   * Resets conversations. New ones get through.
   * @param which selects conversations by the client's first bytes; default: all
   */
  reset(which: (first: Buffer) => boolean = () => true): void {
    for (const pair of this.#pairs) if (which(pair.first ?? NOTHING)) this.#drop(pair);
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

  /** Only TCP connections can be reset. */
  #reset(socket: Socket): void {
    if (socket.remoteAddress === undefined) socket.destroy();
    else socket.resetAndDestroy();
  }

  #connect(client: Socket): void {
    this.connections += 1;
    const target = this.#target;
    if (typeof target !== 'function') return this.#connectTo(target, client);
    client.once('error', () => client.destroy());
    client.once('data', (first: Buffer) => {
      client.pause();
      client.unshift(first);
      this.#connectTo(target(first), client);
      client.resume();
    });
  }

  #connectTo(target: Target, client: Socket): void {
    const address =
      typeof target === 'string' ? { path: target } : { port: target, host: '127.0.0.1' };
    const server = net.connect({ ...address, allowHalfOpen: true });
    const pair: Pair = { client, server, swallowed: false, first: null, held: [] };
    this.#pairs.add(pair);
    const judge = this.#judgeNext();
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
