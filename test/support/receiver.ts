import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as it arrived. */
export interface ReceivedRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingMessage['headers'];
  /** The raw bytes. */
  body: Buffer;
}

/** Ids of the events in deliveries of webhooks, in the order of their arrival. */
export const eventIds = (deliveries: readonly Pick<ReceivedRequest, 'body'>[]): string[] =>
  deliveries.flatMap(({ body }) =>
    (JSON.parse(body.toString()) as { deltas: { event_id: string }[] }).deltas.map(
      ({ event_id: id }) => id,
    ),
  );

/** A scripted response. */
export interface ReceiverResponse {
  status: number;
  headers?: Record<string, string>;
}

/** Responds to one request whose body has been received completely. */
export type ReceiverBehaviour = (
  response: ServerResponse,
  request: ReceivedRequest,
  socket: Socket,
) => void;

/** Echoes challenges and answers deliveries with 200, as a receiver should. */
export const agreeable: ReceiverBehaviour = (response, { url }) => {
  const challenge = new URL(url, 'http://receiver').searchParams.get('challenge');
  response.writeHead(200).end(challenge ?? 'ok');
};

/** A real HTTP server on loopback that keeps the requests it receives. */
export class Receiver {
  readonly received: ReceivedRequest[] = [];
  /** How the server responds. Tests may change it at any time. */
  behave: ReceiverBehaviour = agreeable;
  /** Responses to the next requests, in order. After the last one, `behave` decides. */
  readonly answers: ReceiverResponse[] = [];
  /** Called when a request has been received completely. The response waits for the promise. */
  onRequest: (request: ReceivedRequest) => Promise<unknown> = () => Promise.resolve();
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const received = { method, url, headers, body: Buffer.concat(chunks) };
      this.received.push(received);
      this.onRequest(received).then(
        () => {
          const answer = this.answers.shift();
          if (answer) response.writeHead(answer.status, answer.headers).end();
          else this.behave(response, received, socket);
        },
        () => response.writeHead(500).end(),
      );
    });
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.on('connection', (socket) => receiver.#sockets.add(socket));
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  /** http://127.0.0.1:port */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The received deliveries: all `POST` requests. */
  get posted(): ReceivedRequest[] {
    return this.received.filter(({ method }) => method === 'POST');
  }

  /** Stops the server and closes pending requests. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
