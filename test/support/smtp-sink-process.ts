import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  AcceptedMessage,
  SinkBehaviour,
  SinkCounts,
  SinkFault,
} from './smtp-sink-protocol.ts';

/*
 * A minimal SMTP server. It records every message at the moment it accepts it, before it sends the
 * 250, and tests can make it misbehave. It is a separate process, so that no dying worker and no
 * busy test disturbs its record. Lost and duplicated messages are counted from that record. Node
 * runs this file directly; `smtp-sink.ts` starts it.
 */

const DOT = '\r\n.\r\n';
const CALM: SinkBehaviour = {
  seed: 1,
  delayMs: [0, 0],
  deferRecipient: 0,
  cutInData: 0,
  cutAfterDot: 0,
  silentAfterDot: 0,
  hang: [],
};

/** Mulberry32, a small random generator: evenly distributed, and the same on every machine. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

let behaviour = CALM;
let random = dice(CALM.seed);
const accepted: AcceptedMessage[] = [];
/** `sender message-id` of every accepted message. Stands for the Sent folders. */
const sent = new Set<string>();
const bySender = new Map<string, number>();
const faults = new Map<SinkFault, number>();
const hanging = new Set<() => void>();

function note(fault: SinkFault): void {
  faults.set(fault, (faults.get(fault) ?? 0) + 1);
}

/** Counts the fault. @returns true for every second message, which is accepted */
function noteDoubtful(kind: 'cut' | 'silent'): boolean {
  const yes = faults.get(`${kind} after dot, accepted`) ?? 0;
  const no = faults.get(`${kind} after dot, not accepted`) ?? 0;
  note(yes > no ? `${kind} after dot, not accepted` : `${kind} after dot, accepted`);
  return yes <= no;
}

function header(content: string, name: string): string {
  const head = content.slice(0, content.indexOf('\r\n\r\n') + 2);
  const found = new RegExp(`^${name}:\\s*((?:.|\\r\\n[ \\t])*?)\\r\\n(?![ \\t])`, 'im').exec(head);
  return (found?.[1] ?? '').replaceAll('\r\n', '').trim();
}

const addressOf = (command: string) => /<([^>]*)>/.exec(command)?.[1] ?? '';

/**
 * One connection. Executes its commands one at a time, no matter in how many packets they arrive.
 */
class Exchange {
  readonly #socket: net.Socket;
  #buffer = '';
  #working = false;
  #from = '';
  #recipients: string[] = [];
  /** Set during DATA. `cut` is true if the connection is to be cut when content arrives. */
  #content: { cut: boolean } | null = null;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    // Latin-1 keeps every byte unchanged.
    socket.setEncoding('latin1');
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: string) => {
      this.#buffer += chunk;
      if (this.#content?.cut) this.#socket.resetAndDestroy();
      else if (!this.#working) void this.#work();
    });
    this.#say('220 sink.test ESMTP');
  }

  #say(line: string): void {
    if (this.#socket.writable) this.#socket.write(`${line}\r\n`);
  }

  async #work(): Promise<void> {
    this.#working = true;
    // Like a real server, the sink also executes the commands of a client that has disconnected.
    while (await this.#step()) continue;
    this.#working = false;
  }

  /** @returns true if there was something to do */
  async #step(): Promise<boolean> {
    if (this.#content) {
      // If the message is empty, the dot follows directly.
      const end = `\r\n${this.#buffer}`.indexOf(DOT);
      if (end < 0) return false;
      const content = this.#buffer.slice(0, end);
      this.#buffer = this.#buffer.slice(end + DOT.length - 2);
      this.#content = null;
      await this.#receive(content);
      return true;
    }
    const end = this.#buffer.indexOf('\r\n');
    if (end < 0) return false;
    const line = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end + 2);
    await this.#command(line);
    return true;
  }

  async #command(line: string): Promise<void> {
    switch (line.slice(0, 4).toUpperCase()) {
      case 'EHLO':
        return this.#say('250-sink.test\r\n250-8BITMIME\r\n250-PIPELINING\r\n250 SIZE 33554432');
      case 'MAIL':
        this.#from = addressOf(line).toLowerCase();
        this.#recipients = [];
        if (behaviour.hang.includes(this.#from)) {
          note('hung');
          await new Promise<void>((resolve) => hanging.add(resolve));
        }
        return this.#say('250 sender ok');
      case 'RCPT':
        if (random() < behaviour.deferRecipient) {
          note('deferred');
          return this.#say('450 4.7.1 greylisted, try again later');
        }
        this.#recipients.push(addressOf(line).toLowerCase());
        return this.#say('250 recipient ok');
      case 'DATA':
        return this.#data();
      case 'QUIT':
        this.#say('221 bye');
        return void this.#socket.end();
      case 'HELO':
      case 'RSET':
      case 'NOOP':
        return this.#say('250 ok');
      default:
        return this.#say('500 unknown command');
    }
  }

  #data(): void {
    if (this.#recipients.length === 0) return this.#say('554 no valid recipients');
    const cut = random() < behaviour.cutInData;
    if (cut) note('cut in DATA');
    this.#content = { cut };
    this.#say('354 go ahead');
  }

  async #receive(content: string): Promise<void> {
    const die = random();
    const cut = die < behaviour.cutAfterDot;
    const silent = !cut && die < behaviour.cutAfterDot + behaviour.silentAfterDot;
    const [least, most] = behaviour.delayMs;
    const waitMs = least + random() * (most - least);
    const beforeMs = waitMs * random();
    if (beforeMs > 0) await delay(beforeMs);
    const accepts = cut || silent ? noteDoubtful(cut ? 'cut' : 'silent') : true;
    if (accepts) this.#accept(content);
    if (waitMs > beforeMs) await delay(waitMs - beforeMs);
    if (cut) this.#socket.resetAndDestroy();
    else if (!silent) this.#say('250 2.0.0 accepted');
  }

  #accept(content: string): void {
    const messageId = header(content, 'message-id');
    const from = this.#from;
    const recipients = this.#recipients;
    accepted.push({
      messageId,
      from,
      recipients,
      subject: header(content, 'subject'),
      at: Date.now(),
    });
    sent.add(`${from} ${messageId}`);
    bySender.set(from, (bySender.get(from) ?? 0) + 1);
  }
}

function counts(): SinkCounts {
  return {
    accepted: accepted.length,
    bySender: Object.fromEntries(bySender),
    faults: Object.fromEntries(faults),
    hanging: hanging.size,
  };
}

function release(): void {
  behaviour = { ...behaviour, hang: [] };
  for (const resume of hanging) resume();
  hanging.clear();
}

function answer(url: URL, body: string): unknown {
  switch (url.pathname) {
    case '/behaviour':
      behaviour = { ...CALM, ...(JSON.parse(body) as Partial<SinkBehaviour>) };
      random = dice(behaviour.seed);
      return {};
    case '/accepted':
      return accepted;
    case '/counts':
      return counts();
    case '/release':
      release();
      return {};
    case '/sent': {
      const of = (name: string) => url.searchParams.get(name) ?? '';
      return { found: sent.has(`${of('from').toLowerCase()} ${of('message_id')}`) };
    }
    default:
      throw new Error(`the sink knows no ${url.pathname}`);
  }
}

const control = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    try {
      const said = answer(
        new URL(request.url ?? '/', 'http://sink'),
        Buffer.concat(chunks).toString(),
      );
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    } catch (error) {
      response.writeHead(400).end(String(error));
    }
  });
});

const mail = net.createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('end', () => socket.end());
  void new Exchange(socket);
});

mail.listen(0, '127.0.0.1', () => {
  control.listen(0, '127.0.0.1', () => {
    const port = (server: net.Server) => (server.address() as AddressInfo).port;
    process.stdout.write(`${JSON.stringify({ port: port(mail), controlPort: port(control) })}\n`);
  });
});

// The process that started the sink has ended.
process.stdin.on('end', () => process.exit(0)).resume();
