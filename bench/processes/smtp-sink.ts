import net from 'node:net';
import { serve } from './serve.ts';

/*
 * A minimal SMTP server that accepts everything at once and keeps nothing. A full server would add
 * its own time: smtp-server, for example, waits 100 ms before its greeting.
 */

const GREETING = '220 sink.bench.test ESMTP\r\n';
const CAPABILITIES =
  '250-sink.bench.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SIZE 52428800\r\n250 AUTH PLAIN LOGIN\r\n';
const END = '\r\n.\r\n';

/**
 * The first sender on a connection, and when the connection was accepted (`process.hrtime`, which
 * all processes share).
 */
interface FirstSender {
  from: string;
  acceptedNs: string;
}

let messages = 0;
let connections = 0;
let firstSenders: FirstSender[] = [];

/** One connection. */
class Session {
  readonly #acceptedNs = process.hrtime.bigint();
  #input = '';
  #inContent = false;
  #known = false;

  /** Answers commands until the client disconnects. */
  serve(socket: net.Socket): void {
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: string) => {
      const answer = this.#read(chunk);
      if (answer) socket.write(answer);
      if (answer.endsWith('221 bye\r\n')) socket.end();
    });
    socket.write(GREETING);
  }

  #read(chunk: string): string {
    this.#input += chunk;
    let answer = '';
    for (;;) {
      const end = this.#input.indexOf(this.#inContent ? END : '\r\n');
      if (end < 0) return answer;
      const text = this.#input.slice(0, end);
      this.#input = this.#input.slice(end + (this.#inContent ? END.length : 2));
      answer += this.#inContent ? this.#taken() : this.#command(text);
    }
  }

  #taken(): string {
    this.#inContent = false;
    messages += 1;
    return `250 2.0.0 taken ${messages}\r\n`;
  }

  #command(line: string): string {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') return CAPABILITIES;
    if (verb === 'AUTH') return '235 2.7.0 welcome\r\n';
    if (verb === 'MAIL') this.#noteSender(line);
    if (verb === 'QUIT') return '221 bye\r\n';
    if (verb !== 'DATA') return '250 2.0.0 ok\r\n';
    this.#inContent = true;
    return '354 go on\r\n';
  }

  #noteSender(line: string): void {
    if (this.#known) return;
    this.#known = true;
    const from = /<([^>]*)>/.exec(line)?.[1] ?? '';
    firstSenders.push({ from, acceptedNs: String(this.#acceptedNs) });
  }
}

const server = net.createServer({ noDelay: true }, (socket) => {
  connections += 1;
  new Session().serve(socket);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
  serve((server.address() as net.AddressInfo).port, {
    /** Returns and resets what was recorded since the last call. */
    take: () => {
      const taken = { messages, connections, firstSenders };
      messages = 0;
      connections = 0;
      firstSenders = [];
      return taken;
    },
  });
});
