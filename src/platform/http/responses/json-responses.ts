import type { Express, Response } from 'express';
import { asciiJson } from '../../base/text/ascii-json.ts';

/** Responses whose JSON has to be ASCII. */
const ascii = new WeakSet<Response>();

/** Makes the JSON of a response ASCII (`asciiJson`), as its client may read it piece by piece. */
export function sendAscii(response: Response): void {
  ascii.add(response);
}

/**
 * Makes every JSON response say exactly `application/json`. Express would add `charset=utf-8`, a
 * parameter that JSON does not have (RFC 8259 11); clients that compare the whole value would then
 * not parse the response.
 */
export function sendPlainJson(app: Express): void {
  app.response.json = function json(this: Response, value: unknown): Response {
    // Bytes, because Node writes a long text to a socket by way of a buffer three times as large.
    const bytes = Buffer.from(ascii.has(this) ? asciiJson(value) : JSON.stringify(value));
    this.setHeader('Content-Type', 'application/json');
    this.setHeader('Content-Length', bytes.length);
    // Node itself leaves out the body of a response to HEAD.
    return this.end(bytes);
  };
}
