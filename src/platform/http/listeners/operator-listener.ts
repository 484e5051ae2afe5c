import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import type { NestApplicationOptions } from '@nestjs/common';
import { DocumentedResponses } from '../responses/response-shape.ts';

/** Requests that arrived at the operators' listener. */
const arrived = new WeakSet<IncomingMessage>();

/** Whether a request arrived at the operators' own listener (`OPERATOR_PORT`). */
export function arrivedAtOperators(request: IncomingMessage): boolean {
  return arrived.has(request);
}

/**
 * Express with a second listener for operators. Both pass their requests to the same application,
 * and both are closed together.
 */
export class TwoListeners extends DocumentedResponses {
  /** The operators' listener; `null` if there is none. */
  operators: Server | null = null;
  readonly #hasOperators: boolean;

  /** @param hasOperators whether there is an operators' listener */
  constructor(
    instance: ConstructorParameters<typeof DocumentedResponses>[0],
    hasOperators: boolean,
  ) {
    super(instance);
    this.#hasOperators = hasOperators;
  }

  override initHttpServer(options: NestApplicationOptions): void {
    super.initHttpServer(options);
    if (!this.#hasOperators) return;
    const handle = this.getInstance<RequestListener>();
    const listener: RequestListener = (request, response) => {
      arrived.add(request);
      handle(request, response);
    };
    this.operators = options.httpsOptions
      ? https.createServer(options.httpsOptions, listener)
      : http.createServer(listener);
  }

  /**
   * Starts the operators' listener, if there is one.
   * @returns its port; `null` if there is none
   * @throws errors of the socket, such as EADDRINUSE
   */
  async listenForOperators(port: number, host: string): Promise<number | null> {
    const server = this.operators;
    if (!server) return null;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return (server.address() as { port: number }).port;
  }

  override async close(): Promise<void> {
    const { operators } = this;
    await Promise.all([
      super.close() as Promise<void> | undefined,
      operators?.listening && new Promise((resolve) => operators.close(resolve)),
    ]);
  }
}
