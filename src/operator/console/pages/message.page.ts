import { html, type Html } from '../../../platform/pages/html.ts';
import type { JobSummary, MessagePreview } from '../../jobs/job-types.ts';
import { counted, size } from '../kit/figures.ts';
import { wholeId } from '../kit/id.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { facts } from '../kit/table.ts';
import type { LeftOut } from '../preview/safe-html.ts';
import { JOBS_PATH, jobTitle } from './jobs.page.ts';

/** Address of the content, for the frame. */
export const contentPath = (id: string): string => `${JOBS_PATH}/${id}/message/content`;

const headOf = ({ subject, from, to, cc, attachments, bytes }: MessagePreview): Html =>
  facts([
    ['Subject', subject],
    ['From', from.join(', ')],
    ['To', to.join(', ')],
    ['Cc', cc.join(', ')],
    [
      'Attachments',
      attachments.map(({ filename, contentType }) => `${filename} (${contentType})`).join(', '),
    ],
    ['Size', size(bytes)],
  ]);

const folded = (id: string, summary: string, text: string): Html =>
  html`<details id="${id}">
    <summary>${summary}</summary>
    <pre class="written">${text}</pre>
  </details>`;

function leftOutOf(leftOut: readonly LeftOut[]): Html | null {
  if (leftOut.length === 0) return null;
  return html`<section class="panel" id="left-out">
    <h2>Left out of the preview</h2>
    ${leftOut.map(({ what, count, text }, index) => {
      const title = `${what}: ${counted(count, 'time')}`;
      return text
        ? folded(`left-out-${index}`, `${title}, with text`, text)
        : html`<p>${title}</p>`;
    })}
  </section>`;
}

/**
 * A message: its head as part of our page, and its content in a frame that runs no scripts and
 * loads nothing from other servers. Nothing in the content can cover the head.
 * @param leftOut what the frame does not show
 */
export function messagePage(
  job: JobSummary,
  message: MessagePreview,
  leftOut: readonly LeftOut[],
): ConsolePage {
  const { id, accountId, accountEmail } = job;
  return {
    section: 'jobs',
    title: jobTitle(job),
    lead: 'Scripts, forms and remote pictures are left out. Links do not open; point at one to see where it leads.',
    crumbs: [
      { path: JOBS_PATH, label: 'Jobs' },
      { path: `${JOBS_PATH}/${id}`, label: 'Job' },
    ],
    body: html`<section class="panel" id="message-head">
        ${headOf(message)}${message.headers ? folded('message-headers', 'Headers', message.headers) : null}
      </section>
      <iframe
        class="preview"
        sandbox=""
        src="${contentPath(id)}"
        title="The content of the message"
        referrerpolicy="no-referrer"
      ></iframe>
      ${leftOutOf(leftOut)}
      <section class="panel">
        ${facts([
          ['Job', wholeId(id, 'job id')],
          ['Account', html`<a href="/console/accounts/${accountId}">${accountEmail}</a>`],
          ['Audit log', 'This look at the message is recorded.'],
        ])}
      </section>`,
  };
}
