import { html } from '../../../platform/pages/html.ts';
import type { MessagePreview } from '../../jobs/job-types.ts';
import { count, size } from '../kit/figures.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { facts } from '../kit/table.ts';
import { verbatim } from '../kit/timeline.ts';
import { JOBS_PATH } from './jobs.page.ts';

/** Address of the content, for the frame. */
export const contentPath = (id: string): string => `${JOBS_PATH}/${id}/message/content`;

/** A message in a frame that runs no scripts and loads nothing from other servers. */
export function messagePage(message: MessagePreview): ConsolePage {
  const { id, subject, from, to, cc, attachments, headers, bytes } = message;
  return {
    section: 'jobs',
    title: subject || '(no subject)',
    lead: 'Scripts, forms and remote pictures are left out. Links do not open; point at one to see where it leads.',
    crumbs: [
      { path: JOBS_PATH, label: 'Jobs' },
      { path: `${JOBS_PATH}/${id}`, label: 'Job' },
    ],
    body: html`<section class="panel"><h2>Message</h2>${facts([
        ['From', from.join(', ')],
        ['To', to.join(', ')],
        ['Cc', cc.join(', ')],
        ['Size', size(bytes)],
        [`${count(attachments.length)} attachments`, attachments.map(({ filename, contentType }) => `${filename} (${contentType})`).join(', ')],
      ])}</section>
      <iframe class="preview" sandbox="" src="${contentPath(id)}" title="Content of the message" referrerpolicy="no-referrer" loading="eager"></iframe>
      ${headers ? html`<section class="panel"><h2>Headers</h2>${verbatim(headers)}</section>` : null}`,
  }; // prettier-ignore
}
