import type { Request, Response } from 'express';
import { csrfToken } from '../access/sessions/csrf.ts';
import { operatorOf } from '../access/operator-principal.ts';
import { presentedSession } from '../access/sessions/session-cookie.ts';
import type { Viewer } from './kit/actions.ts';
import { type ConsolePage, consolePage } from './kit/layout.ts';

/** The pages load their own files only, send forms to us only, and cannot be framed. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * The content of a message may style itself and show pictures that it contains. It runs no scripts,
 * loads nothing, sends no forms, and only our own page may frame it.
 */
const CONTENT_POLICY = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "frame-ancestors 'self'",
  "base-uri 'none'",
].join('; ');

/** Sends a document of the console. Every response already has `Cache-Control: no-store`. */
export function sendDocument(response: Response, document: string, status = 200): void {
  response
    .status(status)
    .set({ 'Content-Security-Policy': POLICY, 'X-Frame-Options': 'DENY' })
    .type('html')
    .send(document);
}

/** Sends the content of a message for the frame of the preview. */
export function sendContent(response: Response, document: string): void {
  response
    .status(200)
    .set({ 'Content-Security-Policy': CONTENT_POLICY, 'X-Frame-Options': 'SAMEORIGIN' })
    .type('html')
    .send(document);
}

/** The operator who looks at a page. For requests behind `OperatorAccess`. */
export function viewerOf(request: Request): Viewer {
  const operator = operatorOf(request);
  if (!operator) throw new Error('viewerOf is used on a route without OperatorAccess');
  const { name, role } = operator;
  return { name, role, csrfToken: csrfToken(presentedSession(request)) };
}

/** Sends a page to the operator of the request. */
export function sendPage(response: Response, page: ConsolePage, status = 200): void {
  sendDocument(response, consolePage(viewerOf(response.req), page), status);
}
