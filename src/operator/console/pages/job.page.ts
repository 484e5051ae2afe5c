import { html, type Html } from '../../../platform/pages/html.ts';
import type { JobActionName, JobDetails, TimelineEntry } from '../../jobs/job-types.ts';
import { actionBar, type Viewer } from '../kit/actions.ts';
import { type Tone } from '../kit/chip.ts';
import { count } from '../kit/figures.ts';
import { copyButton, wholeId } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { jobChip } from '../kit/states.ts';
import { facts } from '../kit/table.ts';
import { absolute, duration, exactly, relative } from '../kit/time.ts';
import { timeline } from '../kit/timeline.ts';
import { actionPage } from './action.page.ts';
import { jobActionPath, JOBS_PATH, jobTitle } from './jobs.page.ts';

const ACTIONS: readonly { action: JobActionName; label: string }[] = [
  { action: 'retry', label: 'Retry…' },
  { action: 'release', label: 'Release…' },
  { action: 'cancel', label: 'Cancel…' },
];

const OUTCOMES = { sent: 'good', 'not-sent': 'bad', unknown: 'warning' } as const;
const OUTCOME_WORDS = { sent: 'sent', 'not-sent': 'not sent', unknown: 'outcome unknown' } as const;
const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** The sentence of an entry; attempts have theirs in the line below. */
const titleOf = ({ kind, text, attempt }: TimelineEntry): string =>
  attempt && kind === 'attempt'
    ? `Attempt ${attempt.number}: ${OUTCOME_WORDS[attempt.outcome]}`
    : text.replace(/\.$/, '').replaceAll(INSTANT, (instant) => absolute(new Date(instant)));

function toneOf({ kind, attempt }: TimelineEntry, { state }: JobDetails): Tone {
  if (attempt) return OUTCOMES[attempt.outcome];
  if (kind === 'ended')
    return state === 'successful' ? 'good' : state === 'failed' ? 'bad' : 'idle';
  return kind === 'waiting' || kind === 'claimed' ? 'busy' : 'idle';
}

/** How far an attempt got, and what follows. */
function attemptLine({ attempt }: TimelineEntry, now: Date): Html | null {
  if (!attempt) return null;
  const { startedAt, endedAt, route, phase, code, rule, nextAt } = attempt;
  const parts = [
    `took ${duration(endedAt.getTime() - startedAt.getTime())}`,
    route && `route: ${route}`,
    phase && `phase: ${phase}`,
    code && `code: ${code}`,
    rule && `rule: ${rule}`,
    nextAt && `next attempt ${relative(nextAt, now)}`,
  ];
  return html`<p class="aside">${parts.filter(Boolean).join(' · ')}</p>`;
}

const recipientFacts = (job: JobDetails): Html | null => {
  const { recipients, recipientCount, accepted, refused } = job;
  if (recipientCount === 0) return null;
  const more = recipientCount - recipients.length;
  return html`<section class="panel">
    <h2>Recipients</h2>
    ${facts([
      ['All', `${recipients.join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`],
      ['Have it', accepted.join(', ')],
      [
        'Refused',
        refused.length > 0 &&
          html`<ul class="reasons">
            ${refused.map(({ email, reason }) => html`<li>${email}: ${reason}</li>`)}
          </ul>`,
      ],
    ])}
  </section>`;
};

const jobFacts = (job: JobDetails, now: Date): Html =>
  html`<section class="panel">
    <h2>Job</h2>
    ${facts([
      ['Id', wholeId(job.id, 'job id')],
      ['Account', html`<a href="/console/accounts/${job.accountId}">${job.accountEmail}</a>`],
      [
        'Application',
        html`<a href="/console/applications/${job.applicationId}">${job.applicationName}</a>`,
      ],
      ['Action', job.action.replaceAll('_', ' ')],
      ['Accepted', exactly(job.acceptedAt, now)],
      ['Due', job.dueAt && exactly(job.dueAt, now)],
      ['Next attempt', job.nextAt && exactly(job.nextAt, now)],
      ['Retried until', job.retryLimitAt && exactly(job.retryLimitAt, now)],
      ['Attempts', count(job.attempts)],
      ['Route', job.route],
      [
        'Message-ID',
        job.messageIdHeader &&
          html`<span class="id"
            ><code>${job.messageIdHeader}</code
            >${copyButton(job.messageIdHeader, 'Message-ID')}</span
          >`,
      ],
      [
        job.object ? `Its ${job.object.replaceAll('_', ' ')}` : 'Object',
        job.objectId && wholeId(job.objectId, 'id of the object'),
      ],
      [
        'Worker',
        job.worker &&
          html`${job.worker.id}${job.worker.seenAt ? html` <span class="aside">heartbeat ${relative(job.worker.seenAt, now)}</span>` : null}`,
      ],
    ])}
  </section>`;

/** Why an open job waits, if its account is the cause. */
const closedNote = ({ accountClosed }: JobDetails, now: Date): Html | null =>
  accountClosed &&
  html`<div class="confirm confirm-danger">
    <div>
      <p>
        The circuit breaker of the account lets nothing through until
        ${exactly(accountClosed.until, now)}.
      </p>
      ${accountClosed.reason ? html`<p>${accountClosed.reason}</p>` : null}
    </div>
  </div>`;

const settlePath = (id: string): string => `${JOBS_PATH}/${id}/settle`;

/** Asks an operator whether a message of unknown outcome was sent. */
export function settlePage(viewer: Viewer, job: JobDetails): ConsolePage {
  const back = `${JOBS_PATH}/${job.id}`;
  return actionPage(viewer, {
    section: 'jobs',
    title: 'Was this message sent?',
    consequences:
      'Find out first, for example in the log of the mail server or from a recipient. If it was sent, the job becomes successful. If it was not sent, it is sent again at once, or fails if its deadline has passed. Its webhooks follow. This cannot be undone.',
    crumbs: [{ path: back, label: jobTitle(job) }],
    fields: html`<div>
        <label for="outcome">The message</label
        ><select id="outcome" name="outcome" required>
          <option value="">Choose…</option>
          <option value="sent">was sent: everybody has it, except recipients who refused it</option>
          <option value="not-sent">was not sent: nobody got it</option>
        </select>
      </div>
      <div>
        <label for="reason">How you found out</label
        ><input id="reason" name="reason" type="text" required maxlength="300" autocomplete="off" />
        <p class="hint">Users see it in the timeline of the message.</p>
      </div>`,
    path: settlePath(job.id),
    button: 'Settle the outcome',
    danger: true,
    back,
  });
}

/** One job: its timeline with the words of the servers, and what an operator can do. */
export function jobPage(
  viewer: Viewer,
  job: JobDetails,
  { now, notice, previewable }: { now: Date; notice: Notice | null; previewable: boolean },
): ConsolePage {
  const actions = ACTIONS.filter(({ action }) => job.allowed.includes(action));
  const moments = job.timeline.map((entry) => ({
    at: entry.at,
    tone: toneOf(entry, job),
    title: titleOf(entry),
    details: attemptLine(entry, now),
    words: entry.said,
  }));
  return {
    section: 'jobs',
    title: jobTitle(job),
    beside: jobChip(job),
    lead: job.reason,
    crumbs: [{ path: JOBS_PATH, label: 'Jobs' }],
    notice,
    body: html`${actionBar(viewer, [
        ...actions.map(({ action, label }) => ({
          path: jobActionPath(action, { id: job.id }),
          label,
          danger: action === 'cancel',
        })),
        ...(job.allowed.includes('settle') ? [{ path: settlePath(job.id), label: 'Settle…' }] : []),
      ])}
      ${closedNote(job, now)}
      <div class="columns">
        <section class="panel">
          <h2>Timeline</h2>
          ${timeline(moments, now)}
        </section>
        <div class="stack">
          ${jobFacts(job, now)}${recipientFacts(job)}${
            previewable
              ? html`<section class="panel">
                  <h2>Message</h2>
                  <p>
                    The content is shown without scripts, forms and remote pictures. Reading it is
                    recorded in the audit log.
                  </p>
                  <p>
                    <a class="button" href="${JOBS_PATH}/${job.id}/message">Show the message</a>
                  </p>
                </section>`
              : null
          }
        </div>
      </div>`,
  };
}
