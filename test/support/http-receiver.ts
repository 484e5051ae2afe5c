import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request a receiver got. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What it answers; the default is 200. */
export interface ReceiverAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A local web server that keeps what it is sent. */
export interface HttpReceiver {
  url: string;
  requests: ReceivedRequest[];
  /** Answers of the next requests, first to last. */
  answers: ReceiverAnswer[];
  /** Called when a request has come in whole; its answer waits for it. */
  onRequest: (request: ReceivedRequest) => Promise<unknown>;
  close(): Promise<void>;
}

export async function startHttpReceiver(): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  const answers: ReceiverAnswer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') };
      requests.push(received);
      const { status, headers: extra = {}, body = '' } = answers.shift() ?? { status: 200 };
      receiver.onRequest(received).then(
        () => response.writeHead(status, extra).end(body),
        () => response.writeHead(500).end(),
      );
    });
  });
  const receiver: HttpReceiver = {
    url: '',
    requests,
    answers,
    onRequest: () => Promise.resolve(),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}
