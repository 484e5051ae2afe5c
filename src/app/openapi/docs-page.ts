import { gunzip, gzip } from 'node:zlib';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { RequestHandler, Response } from 'express';
import { VERSION } from '../../platform/base/version.ts';
import { CACHED_FOR_EVER, pageAsset } from '../../platform/pages/assets.ts';
import { html, type Html } from '../../platform/pages/html.ts';
import { PALETTE } from '../../platform/pages/palette.ts';
import { DOCS_SCRIPT, DOCS_STYLES } from './docs-script.ts';
import { reference } from './reference-page.ts';

const resolve = createRequire(import.meta.url).resolve;
const LIBRARY = resolve('swagger-ui-dist/package.json').replace(/package\.json$/, '');
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

const CLOSED = [
  "default-src 'none'",
  "img-src 'self' data:",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];
const POLICY = [...CLOSED, "style-src 'self'"].join('; ');
/** The page loads files of this server only. Swagger UI sets styles in attributes. */
const TRY_POLICY = [
  ...CLOSED,
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
].join('; ');

/** A page or a file of it, compressed when it is first asked for. */
interface DocsFile {
  type: string;
  read: () => Promise<Buffer>;
}

/** Handlers of the documentation of one document. */
interface DocsHandlers {
  /** The reference: everything in one page without JavaScript (ADR 0108). */
  page: RequestHandler;
  /** The page on which operations can be tried: Swagger UI. */
  tryPage: RequestHandler;
  /** Files of the pages; the parameter `file` is the name. */
  files: RequestHandler;
}

/**
 * @param below path of the reference, such as `/docs`; operations are tried at `/docs/try`
 * @param source title and path of the document, and how to get it
 */
export function docsPage(
  below: string,
  source: { title: string; path: string; document: () => OpenAPIObject },
): DocsHandlers {
  const folder = `${below}/assets`;
  const script = pageAsset(folder, 'docs.js', DOCS_SCRIPT);
  const styles = pageAsset(folder, 'docs.css', PALETTE + DOCS_STYLES);
  const library = ['swagger-ui-bundle.js', 'swagger-ui.css'] as const;
  const paths = { script: script.path, styles: styles.path, library: `${folder}/${VERSION}-` };
  const files = new Map<string, DocsFile>([
    [script.name, packed(JAVASCRIPT, () => Promise.resolve(script.content))],
    [styles.name, packed(CSS, () => Promise.resolve(styles.content))],
    // The release of Carillon fixes the version of the library.
    [`${VERSION}-${library[0]}`, packed(JAVASCRIPT, () => fs.readFile(LIBRARY + library[0]))],
    [`${VERSION}-${library[1]}`, packed(CSS, () => fs.readFile(LIBRARY + library[1]))],
  ]);
  const referenceText = packed(HTML, () =>
    Promise.resolve(referencePage(below, source, paths.styles).text),
  );
  const tryText = packed(HTML, () => Promise.resolve(tryPage(below, source, paths).text));
  return {
    page: sender(referenceText, POLICY),
    tryPage: sender(tryText, TRY_POLICY),
    files: async (request, response, next) => {
      const file = files.get(String(request.params['file']));
      if (!file) return next();
      response.set('Cache-Control', CACHED_FOR_EVER);
      await sendPacked(response, file);
    },
  };
}

function sender(page: DocsFile, policy: string): RequestHandler {
  return async (_request, response) => {
    response.set({ 'Content-Security-Policy': policy, 'X-Frame-Options': 'DENY' });
    await sendPacked(response, page);
  };
}

async function sendPacked(response: Response, file: DocsFile): Promise<void> {
  const content = await file.read();
  response.set({ 'Content-Type': file.type, Vary: 'Accept-Encoding' });
  // Every browser reads gzip; curl and text tools may not.
  if (response.req.acceptsEncodings('gzip')) response.set('Content-Encoding', 'gzip').end(content);
  else response.end(await promisify(gunzip)(content));
}

function referencePage(
  below: string,
  { title, path, document }: { title: string; path: string; document: () => OpenAPIObject },
  styles: string,
): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        ${head(title)}
        <link rel="stylesheet" href="${styles}" />
      </head>
      <body class="reference">
        <header class="bar">
          <h1>${title} <small>${VERSION}</small></h1>
          <a href="${below}/try">Try the API</a>
          <a href="${path}">OpenAPI document</a>
        </header>
        <div class="page">${reference(document(), `${below}/try`)}</div>
      </body>
    </html>`;
}

function tryPage(
  below: string,
  { title, path }: { title: string; path: string },
  files: { script: string; styles: string; library: string },
): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        ${head(`Try the ${title}`)}
        <link rel="stylesheet" href="${files.library}swagger-ui.css" />
        <link rel="stylesheet" href="${files.styles}" />
      </head>
      <body>
        <header class="bar">
          <h1>Try the ${title} <small>${VERSION}</small></h1>
          <input
            id="search"
            type="search"
            placeholder="Search paths, fields, parameters and texts ( / )"
            aria-label="Search the operations"
            disabled
          />
          <span id="found" role="status"></span>
          <a href="${below}">Reference</a>
          <a href="${path}">OpenAPI document</a>
        </header>
        <main id="docs" data-document="${path}">
          <p class="loading">Loading…</p>
          <noscript>
            <p class="loading">
              Operations can be tried only with JavaScript. The
              <a href="${below}">reference</a> needs none.
            </p>
          </noscript>
        </main>
        <script src="${files.library}swagger-ui-bundle.js"></script>
        <script src="${files.script}"></script>
      </body>
    </html>`;
}

const head = (title: string): Html =>
  html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} ${VERSION}</title>
    <link rel="icon" href="data:," />`;

function packed(type: string, load: () => Promise<Buffer | string>): DocsFile {
  let content: Promise<Buffer> | undefined;
  return { type, read: () => (content ??= load().then((text) => promisify(gzip)(text))) };
}
