import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/**
 * What the proxy does with a command. `end` closes the connection. An `answer` is sent, with the
 * command's tag, instead of the server's.
 */
export type CommandVerdict = 'pass' | 'end' | { answer: string };

/** How the server appears through the proxy. */
export interface ImapProxyOptions {
  /** Capabilities that the proxy removes from the server's list. */
  hidden?: readonly string[];
  /**
   * Decides on each command of a client, given without its tag. The client waits for the decision.
   */
  judge?: (command: string) => CommandVerdict | Promise<CommandVerdict>;
  /** Changes what the server sends, one or more whole lines at a time, as Latin-1 text. */
  rewrite?: (text: string) => string;
}

/** A proxy for an IMAP server, without TLS, that makes the server look less capable. */
export class ImapProxy {
  readonly #server: net.Server;
  readonly #sockets = new Set<Socket>();
  /** Commands that reached the server, without their tags. */
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
    let rest = '';
    server.on('data', (bytes: Buffer) => {
      const { rewrite } = this.options;
      if (!rewrite) return void client.write(this.#without(bytes));
      // Whatever a server sends ends with a line end, so the rest follows.
      const text = rest + this.#without(bytes).toString('latin1');
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      client.write(Buffer.from(rewrite(text.slice(0, end)), 'latin1'));
    });
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
