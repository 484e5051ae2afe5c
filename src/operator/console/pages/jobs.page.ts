import { html, type Html } from '../../../platform/pages/html.ts';
import {
  JOB_KINDS,
  JOB_STATE_FILTERS,
  type BulkResult,
  type JobActionName,
  type JobSummary,
} from '../../jobs/job-types.ts';
import { actionBar, confirmBody, type Viewer } from '../kit/actions.ts';
import { count, counted } from '../kit/figures.ts';
import { type Filter, filterForm, type FilterValues } from '../kit/filters.ts';
import { idLink } from '../kit/id.ts';
import type { ConsolePage, Notice } from '../kit/layout.ts';
import { jobChip } from '../kit/states.ts';
import {
  address,
  type Column,
  listCount,
  type ListPage,
  pager,
  subLine,
  table,
  twoLines,
} from '../kit/table.ts';
import { when } from '../kit/time.ts';

export const JOBS_PATH = '/console/jobs';

/** Options of a select field: the empty value, then the given ones. */
export const optionsOf = (all: string, values: readonly string[]): Record<string, string> => ({
  '': all,
  ...Object.fromEntries(values.map((value) => [value, value.replaceAll('-', ' ')])),
});

/** The filters of the list of jobs; their names are those of the admin API. */
export const JOB_FILTERS: readonly Filter[] = [
  { name: 'recipient', label: 'Recipient', placeholder: 'ada@example.com', wide: true },
  { name: 'subject', label: 'Words of the subject', wide: true },
  { name: 'kind', label: 'Kind', options: optionsOf('All kinds', JOB_KINDS) },
  { name: 'state', label: 'State', options: optionsOf('All states', JOB_STATE_FILTERS) },
  { name: 'account', label: 'Account', placeholder: 'Address or id', rare: true, wide: true },
  { name: 'application', label: 'Application', placeholder: 'Id or client id', rare: true },
  { name: 'message_id', label: 'Message-ID', rare: true, wide: true },
  { name: 'id', label: 'Job id', rare: true },
];

/** What a job is about, in words. */
export function jobTitle({ subject, action, kind, accountEmail }: JobSummary): string {
  if (subject) return subject;
  return kind === 'message' ? '(no subject)' : `${action.replaceAll('_', ' ')} of ${accountEmail}`;
}

const MOST_NAMED = 2;
/** The number comes first: the line may be cut. */
const recipientsOf = ({ recipients, recipientCount }: JobSummary): string => {
  const named = recipients.slice(0, MOST_NAMED).join(', ');
  return recipientCount > MOST_NAMED ? `${count(recipientCount)} recipients: ${named}, …` : named;
};

const jobPath = (id: string): string => `${JOBS_PATH}/${id}`;

/** The columns of every list of jobs. */
export const jobColumns = (now: Date): Column<JobSummary>[] => [
  {
    title: 'Job',
    kind: 'main',
    cell: (job) =>
      html`<a href="${jobPath(job.id)}">${twoLines(jobTitle(job))}</a
        >${subLine(job.recipientCount > 0 ? `to ${recipientsOf(job)}` : job.action.replaceAll('_', ' '))}`,
  },
  {
    title: 'State',
    cell: (job) => html`${jobChip(job)}${subLine(job.reason)}`,
  },
  {
    title: 'Account',
    kind: 'wide',
    cell: ({ accountId, accountEmail, applicationName }) =>
      html`<a href="/console/accounts/${accountId}">${twoLines(accountEmail)}</a
        >${subLine(applicationName)}`,
  },
  { title: 'Due', cell: ({ dueAt, acceptedAt }) => when(dueAt ?? acceptedAt, now) },
  { title: 'Attempts', kind: 'number', cell: ({ attempts }) => count(attempts) },
  { title: 'Id', cell: ({ id }) => idLink(id, jobPath(id), 'job id') },
];

const ACTION_LABELS: Readonly<Record<JobActionName, string>> = {
  retry: 'Retry',
  cancel: 'Cancel',
  release: 'Release',
};

/** The page that shows what an action on jobs would do. */
export const jobActionPath = (action: JobActionName, filter: FilterValues): string =>
  address(`${JOBS_PATH}/actions/${action}`, filter);

const OPEN_STATES = ['open', 'late', 'delayed', 'pending', 'unknown'];
const STATES_FOR: Readonly<Record<JobActionName, readonly string[]>> = {
  retry: OPEN_STATES,
  cancel: OPEN_STATES,
  release: ['quarantined', 'failed'],
};

/** Actions for all jobs of a filter: those that can change jobs of the filter's state. */
function bulkActions(viewer: Viewer, filter: FilterValues): Html | null {
  const used = Object.values(filter).some(Boolean);
  const actions = (['retry', 'release', 'cancel'] as const).filter((action) =>
    filter['state'] ? STATES_FOR[action].includes(filter['state']) : action !== 'release',
  );
  if (!used) return null;
  return actionBar(
    viewer,
    actions.map((action) => ({
      path: jobActionPath(action, filter),
      label: `${ACTION_LABELS[action]} all that match…`,
      danger: action === 'cancel',
    })),
  );
}

/** The list of jobs with its search. */
export function jobsPage(
  viewer: Viewer,
  list: ListPage<JobSummary>,
  filter: FilterValues,
  { now, notice }: { now: Date; notice: Notice | null },
): ConsolePage {
  const used = Object.values(filter).some(Boolean);
  return {
    section: 'jobs',
    title: 'Jobs',
    lead: 'Messages, changes for providers, reminders and sync passes of all accounts, newest first.',
    notice,
    body: html`${filterForm(JOBS_PATH, JOB_FILTERS, filter)}
    ${list.items.length > 0 ? bulkActions(viewer, filter) : null} ${listCount(list, 'job')}
    ${table('Jobs', jobColumns(now), list.items, {
      title: used ? 'No job matches' : 'No jobs yet',
      text: used
        ? html`Use fewer filters, or <a href="${JOBS_PATH}">show all jobs</a>.`
        : 'A job appears here when an application sends a message or changes an event.',
    })}
    ${pager(JOBS_PATH, filter, list)}`,
  };
}

const CONSEQUENCES: Readonly<Record<JobActionName, string>> = {
  retry:
    'Each open job is tried now instead of at its next attempt, but not before its promised time. Failed jobs have ended: the application decides whether to send again.',
  cancel:
    'A cancelled message is not sent, and a cancelled change does not reach the provider. The application sees the job as cancelled. This cannot be undone.',
  release:
    'A released message is looked up at its provider, and sent if it is not there. If a worker dies with it once more, it returns to quarantine.',
};

/** Asks before an action on jobs is done, with the result of a dry run. */
export function jobActionPage(
  viewer: Viewer,
  action: JobActionName,
  { result, filter, now }: { result: BulkResult<JobSummary>; filter: FilterValues; now: Date },
): ConsolePage {
  const jobs = counted(result.changed, 'job');
  const label = ACTION_LABELS[action];
  const back = filter['id'] ? jobPath(filter['id']) : address(JOBS_PATH, filter);
  return {
    section: 'jobs',
    title: `${label} ${result.changed === 0 ? 'jobs' : jobs}?`,
    crumbs: [{ path: back, label: filter['id'] ? 'Job' : 'Jobs' }],
    body: confirmBody(viewer, {
      consequences: html`<p>${CONSEQUENCES[action]}</p>
        ${result.nextPageToken === null ? null : html`<p>More jobs match than one step handles. Repeat the action for the rest.</p>`}`,
      dryRun: result,
      sample:
        result.sample.length > 0
          ? html`<section class="panel">
              <h2>Some of them</h2>
              ${table('Some of the jobs', jobColumns(now), result.sample, { title: '', text: '' })}
            </section>`
          : undefined,
      path: jobActionPath(action, filter),
      button: `${label} ${jobs}`,
      danger: action === 'cancel',
      back,
    }),
  };
}
