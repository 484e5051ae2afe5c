import { BELL, PRODUCT } from '../../../platform/pages/brand.ts';
import { attributes, html, type Html } from '../../../platform/pages/html.ts';
import { ICON_FILE, STYLES_FILE } from './styles.ts';

/** The application that requests the sign-in, as the page shows it. */
export interface RequestingApplication {
  name: string;
  /** http(s) URL of the application's icon. */
  iconUrl: string | null;
}

/** A page, ready to be sent. */
export interface Page {
  status: number;
  html: string;
  /** Origins of other sites from which the page shows images. */
  pictures: readonly string[];
  /**
   * Whether its forms may lead to other sites: back to the application, or to the provider. Never
   * true for a page with a password field.
   */
  mayLeaveSite: boolean;
}

/** The parts of a page. */
export interface Content {
  /** HTTP status; default 200. */
  status?: number;
  title: string;
  asking?: RequestingApplication;
  mayLeaveSite?: boolean;
  body: Html;
}

const initial = (name: string): string =>
  String.fromCodePoint(name.trim().codePointAt(0) ?? 0x2022).toUpperCase();

/**
 * The application's icon, or its initial. Screen readers skip it, because the name is next to it.
 */
export function mark({ name, iconUrl }: RequestingApplication): Html {
  return iconUrl
    ? html`<img
        class="mark"
        src="${iconUrl}"
        alt=""
        width="48"
        height="48"
        referrerpolicy="no-referrer"
      />`
    : html`<span class="mark" aria-hidden="true">${initial(name)}</span>`;
}

/** Renders a page with the common frame. */
export function layout({ status = 200, title, asking, mayLeaveSite = false, body }: Content): Page {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · ${asking ? asking.name : PRODUCT}</title>
        <link rel="icon" href="${ICON_FILE.path}" type="image/svg+xml" />
        <link rel="stylesheet" href="${STYLES_FILE.path}" />
      </head>
      <body>
        <main class="card" ${attributes({ 'aria-labelledby': 'heading' })}>${body}</main>
        <footer class="foot"><span class="brand">${BELL}${PRODUCT}</span></footer>
      </body>
    </html>`;
  return {
    status,
    html: page.text,
    pictures: asking?.iconUrl ? [new URL(asking.iconUrl).origin] : [],
    mayLeaveSite,
  };
}
