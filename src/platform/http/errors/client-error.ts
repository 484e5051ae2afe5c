import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { PinoLogger } from 'nestjs-pino';
import { newId } from '../../base/ids/ids.ts';
import type { ErrorView } from './error.schema.ts';

/** Requests that Node's parser refuses, by error code. All other codes give 400. */
const REFUSALS: Readonly<Record<string, { status: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'The address and the headers of the request are too long',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    message: 'The chunk extensions of the request are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'The request was not received in time',
  },
};
const MALFORMED = { status: '400 Bad Request', message: 'This is not an HTTP request' };

/** The connection is closed, or its encryption failed: perhaps the client speaks plain HTTP. */
const UNANSWERABLE = /^(ECONNRESET|EPROTO|ERR_(SSL|TLS)_.*)$/;

/**
 * Answers requests that Node's parser refuses with the API's error body, and closes the connection.
 * The response has an `X-Request-Id` like every other response, and one log line has the same id.
 */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (UNANSWERABLE.test(error.code ?? '') || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status, message } = REFUSALS[error.code ?? ''] ?? MALFORMED;
    const id = newId();
    PinoLogger.root.info(
      { req: { id }, res: { status: Number.parseInt(status, 10) } },
      'request refused',
    );
    const body = JSON.stringify({ message, type: 'invalid_request_error' } satisfies ErrorView);
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Request-Id: ${id}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
}
