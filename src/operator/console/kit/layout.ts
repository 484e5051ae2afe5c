import { BELL, ICON, PRODUCT } from '../../../platform/pages/brand.ts';
import { pageAsset } from '../../../platform/pages/assets.ts';
import { attributes, html, type Html, type HtmlValue } from '../../../platform/pages/html.ts';
import { STYLES } from '../styles/styles.ts';
import type { Viewer } from './actions.ts';
import { chip } from './chip.ts';
import { icon, type IconName } from './icons.ts';
import { SCRIPT } from './script.ts';

const FOLDER = '/console/assets';

/** The files that the console's pages load. */
export const STYLES_FILE = pageAsset(FOLDER, 'console.css', STYLES);
export const SCRIPT_FILE = pageAsset(FOLDER, 'console.js', SCRIPT);
export const ICON_FILE = pageAsset(FOLDER, 'icon.svg', ICON);

/** The parts of the console, in the order of the menu. */
export const SECTIONS = [
  { id: 'overview', path: '/console', label: 'Overview' },
  { id: 'jobs', path: '/console/jobs', label: 'Jobs' },
  { id: 'accounts', path: '/console/accounts', label: 'Accounts' },
  { id: 'webhooks', path: '/console/webhooks', label: 'Webhooks' },
  { id: 'applications', path: '/console/applications', label: 'Applications' },
  { id: 'capacity', path: '/console/capacity', label: 'Capacity' },
  { id: 'audit', path: '/console/audit', label: 'Audit log' },
  { id: 'operators', path: '/console/operators', label: 'Operators' },
  { id: 'instance', path: '/console/instance', label: 'Instance' },
  { id: 'logs', path: '/console/log-level', label: 'Log level' },
] as const satisfies readonly { id: IconName; path: string; label: string }[];
export type Section = (typeof SECTIONS)[number]['id'];

/** A link above the title that leads back up. */
export interface Crumb {
  path: string;
  label: string;
}

/** The parts of a page of the console. */
export interface ConsolePage {
  section: Section;
  title: string;
  /** A line below the title. */
  lead?: HtmlValue;
  /** Beside the title, such as the state. */
  beside?: HtmlValue;
  crumbs?: readonly Crumb[];
  /** A message about what was just done. */
  notice?: Notice | null;
  body: Html;
  /** Seconds after which the script loads the page's content again. */
  refreshSeconds?: number;
}

/** What was just done, or why it was not. */
export interface Notice {
  tone: 'good' | 'bad';
  text: string;
}

const noticeBox = ({ tone, text }: Notice): Html =>
  html`<div class="notice notice-${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">
    ${icon(tone === 'bad' ? 'warning' : 'check')}
    <p>${text}</p>
  </div>`;

function menu(viewer: Viewer, current: Section): Html {
  return html`<header class="bar">
    <a class="brand" href="/console">${BELL}<span>${PRODUCT}</span></a>
    <button class="button plain menu-button" type="button" popovertarget="menu">
      ${icon('menu')}Menu
    </button>
    <nav class="menu" id="menu" popover aria-label="Console">
      <ul>
        ${SECTIONS.map(
          ({ id, path, label }) =>
            html`<li><a${attributes({ href: path, 'aria-current': id === current ? 'page' : undefined })}>${icon(id)}${label}</a></li>`,
        )}
      </ul>
      <div class="viewer">
        <p>
          <strong>${viewer.name}</strong
          >${viewer.role === 'operate' ? chip('busy', 'operate', 'check') : chip('idle', 'read only')}
        </p>
        <a class="button plain" href="/console/password">${icon('key')}Your password</a>
        <form method="post" action="/console/sign-out">
          <input type="hidden" name="csrf_token" value="${viewer.csrfToken}" /><button
            class="button plain"
            type="submit"
          >
            ${icon('leave')}Sign out
          </button>
        </form>
      </div>
    </nav>
  </header>`;
}

/**
 * The frame of every document.
 * @param scripted whether the page loads the script
 * @param head further elements of the head
 */
export function documentOf(
  title: string,
  body: Html,
  scripted: boolean,
  head: Html | null = null,
): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · ${PRODUCT} console</title>
        <link rel="icon" href="${ICON_FILE.path}" type="image/svg+xml" />
        <link rel="stylesheet" href="${STYLES_FILE.path}" />
        ${scripted ? html`<script src="${SCRIPT_FILE.path}" defer></script>` : null}${head}
      </head>
      ${body}
    </html>`.text;
}

/** Renders a page for an operator who has signed in. */
export function consolePage(viewer: Viewer, page: ConsolePage): string {
  const { section, title, lead, beside, crumbs = [], notice, body, refreshSeconds } = page;
  const path =
    crumbs.length > 0 &&
    html`<nav aria-label="Breadcrumb" class="crumbs">
      <ol>
        ${crumbs.map(({ path: to, label }) => html`<li><a href="${to}">${label}</a></li>`)}
      </ol>
    </nav>`;
  return documentOf(
    title,
    html`<body class="console">
      <a class="skip" href="#content">Skip to the content</a>
      ${menu(viewer, section)}
      <main id="content" tabindex="-1" ${attributes({ 'data-refresh': refreshSeconds })}>
        ${path}
        <div class="title">
          <h1>${title}</h1>
          ${beside}
        </div>
        ${lead ? html`<div class="lead">${lead}</div>` : null} ${notice ? noticeBox(notice) : null}
        <div id="live">${body}</div>
      </main>
    </body>`,
    true,
  );
}

/** Renders a page without the menu: the sign-in, and errors before it. */
export function plainPage(title: string, body: Html): string {
  return documentOf(
    title,
    html`<body class="alone">
      <main class="card">
        <p class="brand">${BELL}<span>${PRODUCT} console</span></p>
        <h1>${title}</h1>
        ${body}
      </main>
    </body>`,
    false,
  );
}
