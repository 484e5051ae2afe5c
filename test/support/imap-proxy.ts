import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** What becomes of a command: `end` closes the connection, a text is answered in the server's place, with its tag. */
export type CommandVerdict = 'pass' | 'end' | { answer: string };

/** How a server is changed for those who come through the proxy. */
export interface ImapProxyOptions {
  /** Capabilities that it does not have. */
  hidden?: readonly string[];
  /** Judges what a client sends, without its tag; the client waits for a judgement that takes time. */
  judge?: (command: string) => CommandVerdict | Promise<CommandVerdict>;
}

/** Stands before an IMAP server, without TLS, and makes it a lesser one. */
export class ImapProxy {
  readonly #server: net.Server;
  readonly #sockets = new Set<Socket>();
  /** Commands that were passed on, without their tags. */
  readonly commands: string[] = [];

  private constructor(
    private readonly target: number,
    private readonly options: ImapProxyOptions,
  ) {
    this.#server = net.createServer((client) => this.#connect(client));
  }

  static async start(target: number, options: ImapProxyOptions = {}): Promise<ImapProxy> {
    const proxy = new ImapProxy(target, options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #connect(client: Socket): void {
    const server = net.connect(this.target, '127.0.0.1');
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    const pass = async (bytes: Buffer) => {
      const [, tag = '', command = ''] = /^(\S+) ([^\r\n]*)/.exec(bytes.toString('latin1')) ?? [];
      const verdict = (await this.options.judge?.(command)) ?? 'pass';
      if (verdict === 'end') return end();
      if (verdict !== 'pass') return void client.write(`${tag} ${verdict.answer}\r\n`);
      this.commands.push(command);
      server.write(bytes);
    };
    let passed = Promise.resolve();
    client.on('data', (bytes: Buffer) => {
      passed = passed.then(() => pass(bytes)).catch(end);
    });
    server.on('data', (bytes: Buffer) => client.write(this.#without(bytes)));
  }

  #without(bytes: Buffer): Buffer {
    const text = bytes.toString('latin1');
    if (!/^(\* CAPABILITY |\S+ OK \[CAPABILITY )/.test(text)) return bytes;
    const hidden = new Set(this.options.hidden);
    const shown = text.replace(/CAPABILITY [^\]\r]*/g, (list) =>
      list
        .split(' ')
        .filter((name) => !hidden.has(name))
        .join(' '),
    );
    return Buffer.from(shown, 'latin1');
  }
}
