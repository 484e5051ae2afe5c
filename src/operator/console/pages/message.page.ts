import { html } from '../../../platform/pages/html.ts';
import type { JobSummary } from '../../jobs/job-types.ts';
import { wholeId } from '../kit/id.ts';
import type { ConsolePage } from '../kit/layout.ts';
import { facts } from '../kit/table.ts';
import { JOBS_PATH, jobTitle } from './jobs.page.ts';

/** Address of the content, for the frame. */
export const contentPath = (id: string): string => `${JOBS_PATH}/${id}/message/content`;

/** A message in a frame that runs no scripts and loads nothing from other servers. */
export function messagePage(job: JobSummary): ConsolePage {
  const { id, accountId, accountEmail } = job;
  return {
    section: 'jobs',
    title: jobTitle(job),
    lead: 'Scripts, forms and remote pictures are left out. Links do not open; point at one to see where it leads.',
    crumbs: [
      { path: JOBS_PATH, label: 'Jobs' },
      { path: `${JOBS_PATH}/${id}`, label: 'Job' },
    ],
    body: html`<iframe class="preview" sandbox="" src="${contentPath(id)}" title="The message" referrerpolicy="no-referrer"></iframe>
      <section class="panel">${facts([
        ['Job', wholeId(id, 'job id')],
        ['Account', html`<a href="/console/accounts/${accountId}">${accountEmail}</a>`],
        ['Audit log', 'This look at the message is recorded.'],
      ])}</section>`,
  }; // prettier-ignore
}
