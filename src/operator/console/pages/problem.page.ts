import { html } from '../../../platform/pages/html.ts';
import { documentOf, plainPage } from '../kit/layout.ts';

/** An error before or instead of a page. @param text what happened, and what to do */
export const problemPage = (text: string): string =>
  plainPage(
    'This did not work',
    html`<p>${text}</p>
      <a class="button" href="/console">To the overview</a>`,
  );

/** Opens a page of the console once more, this time from our own site. */
export const bouncePage = (path: string): string =>
  documentOf(
    'Opening the console',
    html`<body class="alone">
      <p><a href="${path}">Open the console</a></p>
    </body>`,
    false,
    html`<meta http-equiv="refresh" content="0; url=${path}" />`,
  );
