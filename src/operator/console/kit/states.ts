import type { Html } from '../../../platform/pages/html.ts';
import type { WebhookState } from '../../../platform/webhooks/webhook-state.ts';
import type { AccountHealth } from '../../accounts/account-health.ts';
import type { JobStateName, JobSummary } from '../../jobs/job-types.ts';
import { chip, type Tone } from './chip.ts';

const JOB_TONES: Readonly<Record<JobStateName, Tone>> = {
  pending: 'busy',
  delayed: 'warning',
  successful: 'good',
  failed: 'bad',
  cancelled: 'idle',
  skipped: 'idle',
};

/** The state of a job; for an open one, what it waits for. */
export function jobChip(job: JobSummary): Html {
  if (job.quarantined) return chip('bad', 'quarantined', 'warning');
  if (job.outcomeUnknown) return chip('warning', 'outcome unknown', 'question');
  if (job.onHold) return chip('warning', 'on hold', 'pause');
  if (job.running) return chip('busy', 'running', 'right');
  return chip(JOB_TONES[job.state], job.state);
}

const HEALTH_TONES: Readonly<Record<AccountHealth, Tone>> = {
  'invalid-credentials': 'bad',
  'circuit-open': 'bad',
  quarantined: 'bad',
  'sync-failing': 'bad',
  'sync-late': 'warning',
  'audit-failing': 'warning',
  'over-quota': 'warning',
  'watch-failing': 'warning',
  'sending-paused': 'idle',
  suspended: 'idle',
  cancelled: 'idle',
  'reading-history': 'busy',
  healthy: 'good',
};

/** Health of accounts in words. */
export const HEALTH_WORDS: Readonly<Record<AccountHealth, string>> = {
  'invalid-credentials': 'sign-in needed',
  'circuit-open': 'server unreachable',
  quarantined: 'quarantined',
  'sync-failing': 'sync failing',
  'sync-late': 'sync late',
  'audit-failing': 'audit failing',
  'over-quota': 'over quota',
  'watch-failing': 'watch failing',
  'sending-paused': 'sending paused',
  suspended: 'suspended',
  cancelled: 'cancelled',
  'reading-history': 'reading history',
  healthy: 'healthy',
};

/** What an operator can do about an account. `null` if nothing has to be done. */
export const HEALTH_ADVICE: Readonly<Record<AccountHealth, string | null>> = {
  'invalid-credentials':
    'The user has to sign in again. Make a sign-in link and send it to the user, or let the application do it.',
  'circuit-open':
    'Its messages wait until the server answers again. Check whether other accounts of the same server wait too.',
  quarantined:
    'Workers died while they worked for this account. Look at its quarantined jobs, then release or cancel them.',
  'sync-failing':
    'The words of the provider below say why. Carillon tries again by itself, more and more rarely.',
  'sync-late': 'Workers are too few, or the provider has asked for a pause.',
  'audit-failing':
    'Differences between the mailbox and its mirror remain. The next audit tries again.',
  'over-quota': 'The count starts again at midnight UTC. Raise the quota, or wait.',
  'watch-failing':
    'Changes arrive with the next scheduled pass instead of at once. The error below says why.',
  'sending-paused': 'Its messages wait. Resume sending when the reason is gone.',
  suspended: 'Its application is suspended.',
  cancelled: 'Its application cancelled it. The application can reactivate it.',
  'reading-history':
    'The mailbox is being read for the first time. Messages can be sent meanwhile.',
  healthy: null,
};

/** The health of an account. */
export const healthChip = (health: AccountHealth): Html =>
  chip(HEALTH_TONES[health], HEALTH_WORDS[health]);

/** The state of a webhook. */
export function webhookChip({ state, paused }: { state: WebhookState; paused: boolean }): Html {
  if (paused) return chip('idle', 'paused', 'pause');
  if (state === 'active') return chip('good', 'active');
  if (state === 'failing') return chip('warning', 'failing');
  if (state === 'failed') return chip('bad', 'switched off');
  return chip('idle', 'inactive', 'pause');
}
