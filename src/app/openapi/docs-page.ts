import { gzip } from 'node:zlib';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { RequestHandler } from 'express';
import { VERSION } from '../../platform/base/version.ts';
import { CACHED_FOR_EVER, pageAsset } from '../../platform/pages/assets.ts';
import { html } from '../../platform/pages/html.ts';
import { PALETTE } from '../../platform/pages/palette.ts';
import { DOCS_SCRIPT, DOCS_STYLES } from './docs-script.ts';

const resolve = createRequire(import.meta.url).resolve;
const LIBRARY = resolve('swagger-ui-dist/package.json').replace(/package\.json$/, '');
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/** The page loads files of this server only. Swagger UI sets styles in attributes. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A file of the page, compressed when it is first asked for. */
interface DocsFile {
  type: string;
  read: () => Promise<Buffer>;
}

/**
 * @param below path of the documentation, such as `/docs`
 * @returns the page, and a handler for its files, whose parameter `file` is the name
 */
export function docsPage(
  below: string,
  document: { title: string; path: string },
): { page: RequestHandler; files: RequestHandler } {
  const folder = `${below}/assets`;
  const script = pageAsset(folder, 'docs.js', DOCS_SCRIPT);
  const styles = pageAsset(folder, 'docs.css', PALETTE + DOCS_STYLES);
  const library = ['swagger-ui-bundle.js', 'swagger-ui.css'] as const;
  const files = new Map<string, DocsFile>([
    [script.name, packed(JAVASCRIPT, () => Promise.resolve(script.content))],
    [styles.name, packed(CSS, () => Promise.resolve(styles.content))],
    // The release of Carillon fixes the version of the library.
    [`${VERSION}-${library[0]}`, packed(JAVASCRIPT, () => fs.readFile(LIBRARY + library[0]))],
    [`${VERSION}-${library[1]}`, packed(CSS, () => fs.readFile(LIBRARY + library[1]))],
  ]);
  const markup = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${document.title} ${VERSION}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${folder}/${VERSION}-swagger-ui.css" />
        <link rel="stylesheet" href="${styles.path}" />
      </head>
      <body>
        <header class="bar">
          <h1>${document.title} <small>${VERSION}</small></h1>
          <input
            id="search"
            type="search"
            placeholder="Search paths, fields, parameters and texts ( / )"
            aria-label="Search the documentation"
            disabled
          />
          <span id="found" role="status"></span>
          <a href="${document.path}">OpenAPI document</a>
        </header>
        <main id="docs" data-document="${document.path}">The documentation needs JavaScript.</main>
        <script src="${folder}/${VERSION}-swagger-ui-bundle.js"></script>
        <script src="${script.path}"></script>
      </body>
    </html>`.text;
  return {
    page: (_request, response) => {
      response.set({ 'Content-Security-Policy': POLICY, 'X-Frame-Options': 'DENY' });
      response.type('html').send(markup);
    },
    files: async (request, response, next) => {
      const file = files.get(String(request.params['file']));
      if (!file) return next();
      const content = await file.read();
      response.set({ 'Content-Type': file.type, 'Cache-Control': CACHED_FOR_EVER });
      // Every browser reads gzip.
      response.set({ 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }).end(content);
    },
  };
}

function packed(type: string, load: () => Promise<Buffer | string>): DocsFile {
  let content: Promise<Buffer> | undefined;
  return { type, read: () => (content ??= load().then((text) => promisify(gzip)(text))) };
}
