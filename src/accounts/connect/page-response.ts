import type { Response } from 'express';
import type { Page } from './pages/layout.ts';
import type { Step } from './sign-in-visits.ts';

/**
 * What a page may do: show our stylesheet and the application's icon, send forms to us, and be framed by nobody. Forms of
 * pages that lead back to applications or on to providers may be answered with a redirect elsewhere, which browsers count
 * among what `form-action` forbids; those pages hold nothing secret.
 */
function policyOf({ pictures, leaves }: Page): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src ${["'self'", ...pictures].join(' ')}`,
    `form-action ${leaves ? "'self' https: http:" : "'self'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** Sends a page with its policy; `Cache-Control: no-store` and `Referrer-Policy: no-referrer` are on every answer of the server. */
export function sendPage(response: Response, page: Page): void {
  response
    .status(page.status)
    .set({
      'Content-Security-Policy': policyOf(page),
      'X-Frame-Options': 'DENY',
      // Applications open sign-ins in windows of their own, and want them back.
      'Cross-Origin-Opener-Policy': 'unsafe-none',
    })
    .type('html')
    .send(page.html);
}

/** Sends a page, or the browser on: by GET, whatever it came with. */
export function sendStep(response: Response, step: Step): void {
  if ('page' in step) {
    if (step.retryAfterSeconds !== undefined)
      response.set('Retry-After', String(step.retryAfterSeconds));
    return sendPage(response, step.page);
  }
  // After a form 303, so that it is not sent once more; after a GET the usual 302.
  response.set('Cross-Origin-Opener-Policy', 'unsafe-none');
  response.redirect(response.req.method === 'GET' ? 302 : 303, step.redirect);
}
