import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** What helmet answers, taken once: none of it depends on the request. */
function securityHeaders(): [name: string, value: string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const headers: [name: string, value: string][] = [];
  // Kept by the response itself they would lose their capitals.
  response.setHeader = (name, value) => {
    headers.push([name, String(value)]);
    return response;
  };
  helmet({
    // Swagger UI's own page needs inline styles and data: images; everything else answers JSON.
    contentSecurityPolicy: {
      directives: {
        'style-src': ["'self'", "'unsafe-inline'"],
        'img-src': ["'self'", 'data:'],
        'upgrade-insecure-requests': null,
      },
    },
  })(request, response, (error?: unknown) => {
    if (error !== undefined) throw error;
  });
  return headers;
}

/** Sets the headers that every answer has: security headers, and that answers are not to be kept. */
export function constantHeaders(): RequestHandler {
  const headers = [
    ...securityHeaders(),
    // Answers are somebody's mail, or tokens (RFC 6749 5.1).
    ['Cache-Control', 'no-store'] as const,
  ];
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
