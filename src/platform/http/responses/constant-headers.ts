import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** The headers that helmet sets, computed once: none of them depends on the request. */
function securityHeaders(): [name: string, value: string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const headers: [name: string, value: string][] = [];
  // Replaced, because the real `setHeader` stores names in lower case.
  response.setHeader = (name, value) => {
    headers.push([name, String(value)]);
    return response;
  };
  helmet({
    // Pages have policies of their own. All other responses are JSON.
    contentSecurityPolicy: {
      directives: {
        'style-src': ["'self'"],
        'img-src': ["'self'"],
        'font-src': ["'self'"],
        'upgrade-insecure-requests': null,
      },
    },
  })(request, response, (error?: unknown) => {
    if (error !== undefined) throw error;
  });
  return headers;
}

/** Sets the headers that every response has: security headers, and `Cache-Control`. */
export function constantHeaders(): RequestHandler {
  const headers = [
    ...securityHeaders(),
    // Responses contain private mail or tokens (RFC 6749 5.1).
    ['Cache-Control', 'no-store'] as const,
  ];
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
