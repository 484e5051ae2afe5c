import type { Response } from 'express';
import type { Page } from '../pages/layout.ts';
import type { Step } from './sign-in-visits.ts';

/**
 * Content security policy of a page: it may load our stylesheet and the application's icon and send
 * forms to us, and may not be framed. On pages that lead to applications or providers, the response
 * to a form may redirect elsewhere. Browsers apply `form-action` to such redirects, so these pages
 * allow other targets; they contain no secrets.
 */
function policyOf({ pictures, mayLeaveSite }: Page): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src ${["'self'", ...pictures].join(' ')}`,
    `form-action ${mayLeaveSite ? "'self' https: http:" : "'self'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * Sends a page with its policy. Every response of the server already has `Cache-Control: no-store`
 * and `Referrer-Policy: no-referrer`.
 */
export function sendPage(response: Response, page: Page): void {
  response
    .status(page.status)
    .set({
      'Content-Security-Policy': policyOf(page),
      'X-Frame-Options': 'DENY',
      // Applications open sign-ins in separate windows and need access to those windows.
      'Cross-Origin-Opener-Policy': 'unsafe-none',
    })
    .type('html')
    .send(page.html);
}

/** Sends a page, or redirects the browser with GET. */
export function sendStep(response: Response, step: Step): void {
  if ('page' in step) {
    if (step.retryAfterSeconds !== undefined)
      response.set('Retry-After', String(step.retryAfterSeconds));
    return sendPage(response, step.page);
  }
  // 303 after a form, so that the browser does not send the form again; the usual 302 after a GET.
  response.set('Cross-Origin-Opener-Policy', 'unsafe-none');
  response.redirect(response.req.method === 'GET' ? 302 : 303, step.redirect);
}
