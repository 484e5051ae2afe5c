import { describeApi } from '../../../../platform/budgets/company-api.ts';
import { SYNC_LATE_SECONDS } from '../../../accounts/account-health.ts';
import { ceilingShare, NEAR_CEILING } from '../../../api-use/api-use.ts';
import { count, counted, size } from '../../kit/figures.ts';
import { address } from '../../kit/table.ts';
import { duration } from '../../kit/time.ts';
import {
  type HourOf,
  type Overview,
  RECENT_MINUTES,
  type RefusalState,
} from '../../../overview/overview.ts';
import type { QueueName } from '../../../../platform/work/signals.ts';
import { accessConcerns } from './access-concerns.ts';
import { bounded, type Concern, recentFailures } from './concern.ts';
import { processConcerns } from './process-concerns.ts';
import { requestConcerns } from './request-concerns.ts';

/** A crash loop must not hide the other concerns. */
const MOST_LOST = 3;
/** A worker counts as dead after this time without a heartbeat. */
const DEAD_SECONDS = 8;
const LATE_SECONDS = 60;
const VERY_LATE_SECONDS = 300;
/** A disk above this share should be looked at. */
export const NEARLY_FULL = 0.8;
const FULL_SOON_MS = 14 * 86_400_000;
/** Failures of attempts are a concern from this share on: a few always fail. */
const RECENT_SHARE = 0.2;

const QUEUE_WORDS: Readonly<Record<QueueName, string>> = {
  send: 'Messages',
  provider: 'Changes on their way to providers',
  hook: 'Webhook deliveries',
  reminder: 'Reminders',
  sync: 'Sync passes',
};

const JOBS = '/console/jobs';
const jobs = (query: Readonly<Record<string, string>>, label: string) => ({
  path: address(JOBS, query),
  label,
});

function workerConcerns({ workers }: Overview): Concern[] {
  const alive = workers.filter(({ silentSeconds }) => silentSeconds <= DEAD_SECONDS);
  if (alive.length === 0)
    return [
      {
        tone: 'bad',
        title: 'No worker is running',
        text: 'Nothing is sent, synced or delivered. Start a process with the role worker, or look at the log of the one that stopped. A process with a wrong key or a restored database claims nothing: its /health/ready says so.',
        link: null,
      },
    ];
  return workers
    .filter(({ silentSeconds }) => silentSeconds > DEAD_SECONDS)
    .map(({ id, host, pid, silentSeconds }) => ({
      tone: 'warning',
      title: `Worker ${id} has been silent for ${duration(silentSeconds * 1000)}`,
      text: `Process ${pid} on ${host} is frozen or gone. Other workers take over its work. If the process still exists, restart it.`,
      link: null,
    }));
}

const lostWorkerConcerns = ({ at, lostWorkers }: Overview): Concern[] =>
  lostWorkers.slice(0, MOST_LOST).map(({ id, host, pid, lostAt, againAs }) => ({
    tone: 'warning',
    title: `Worker ${id} was lost ${duration(Math.max(at.getTime() - lostAt.getTime(), 1_000))} ago`,
    text:
      againAs === null
        ? `Process ${pid} on ${host} sent no heartbeat for ${DEAD_SECONDS} seconds. Other workers took over its work. See why the process or its machine ended.`
        : `Process ${pid} on ${host} stood still for more than ${DEAD_SECONDS} seconds, or was started again. It runs now as worker ${againAs}. Other workers took over its work.`,
    link: null,
  }));

const LATE_LINKS: Readonly<Record<QueueName, Concern['link']>> = {
  send: jobs({ kind: 'message', state: 'late' }, 'Late messages'),
  provider: jobs({ kind: 'write', state: 'late' }, 'Late changes'),
  hook: { path: '/console/webhooks', label: 'Webhooks' },
  reminder: jobs({ kind: 'reminder', state: 'late' }, 'Late reminders'),
  sync: { path: address('/console/accounts', { health: 'sync-late' }), label: 'Late accounts' },
};

/** The lists of jobs and accounts call the same rows late. */
const lateSeconds = (queue: QueueName): number =>
  queue === 'sync' ? SYNC_LATE_SECONDS : LATE_SECONDS;

const queueConcerns = ({ queues }: Overview): Concern[] =>
  queues
    .filter(({ queue, oldestDueSeconds }) => oldestDueSeconds > lateSeconds(queue))
    .map(({ queue, due, oldestDueSeconds }) => ({
      tone: oldestDueSeconds > VERY_LATE_SECONDS && queue !== 'sync' ? 'bad' : 'warning',
      title: `${QUEUE_WORDS[queue]} are late: the oldest has been due for ${duration(oldestDueSeconds * 1000)}`,
      text: `${bounded(due, 'row')} due. Workers are too few, too slow, or wait for the database. See whether one account fills the queue.`,
      link: LATE_LINKS[queue],
    }));

function messageConcerns(overview: Overview): Concern[] {
  const { quarantinedMessages, heldMessages, sending } = overview;
  const { failed, unknown } = sending.figures;
  const { overdue = 0 } = overview.queues.find(({ queue }) => queue === 'send') ?? {};
  const concerns: (Concern | false)[] = [
    overdue > 0 && {
      tone: 'warning',
      title: `${bounded(overdue, 'message')} should have left more than a minute ago`,
      text: 'Most wait for their next attempt, because their server cannot be reached or refuses them temporarily, or because their sending is paused. Each says why.',
      link: LATE_LINKS.send,
    },
    quarantinedMessages > 0 && {
      tone: 'bad',
      title: `${bounded(quarantinedMessages, 'message')} in quarantine`,
      text: 'Workers died while they sent these. Look at one, and release or cancel it.',
      link: jobs({ kind: 'message', state: 'quarantined' }, 'Quarantine'),
    },
    failed > 0 && {
      tone: 'warning',
      title: `${bounded(failed, 'message')} failed in the last hour`,
      text: 'The timeline of each says what the mail server answered. Failed messages have ended: their application decides whether to send again.',
      link: jobs({ kind: 'message', state: 'failed' }, 'Failed messages'),
    },
    unknown > 0 && {
      tone: 'warning',
      title: `${bounded(unknown, 'attempt')} with an unknown outcome in the last hour`,
      text: 'The connection was lost after the content was sent. Carillon looks each message up before it sends it again.',
      link: jobs({ kind: 'message', state: 'unknown' }, 'Unknown outcomes'),
    },
    heldMessages > 0 && {
      tone: 'warning',
      title: `${bounded(heldMessages, 'message')} on hold`,
      text: 'Their account was moved to another mailbox. The application has to give them a new send time.',
      link: jobs({ kind: 'message', state: 'open' }, 'Open messages'),
    },
  ];
  return concerns.filter((concern) => concern !== false);
}

/** A concern about attempts of the last minutes, if many of them failed. */
function failingNow<F>(
  { minutes }: HourOf<F>,
  countsOf: (figures: F) => { failed: number; well: number },
  concern: (failures: string) => Omit<Concern, 'tone'>,
): Concern[] {
  const counts = minutes.slice(-RECENT_MINUTES).map(({ figures }) => {
    const { failed, well } = countsOf(figures);
    return { failed, all: failed + well };
  });
  return recentFailures(counts, RECENT_SHARE, ({ failed, all }) =>
    concern(`${count(failed)} of ${counted(all, 'attempt')}`),
  );
}

const attemptConcerns = ({ sending, deliveries }: Overview): Concern[] => [
  ...failingNow(
    sending,
    ({ sent, retried, failed, unknown }) => ({ failed: retried + failed + unknown, well: sent }),
    (failures) => ({
      title: `${failures} to send failed in the last ${RECENT_MINUTES} minutes`,
      text: 'Mail servers cannot be reached, or refuse messages or logins. Delayed messages are tried again until their deadline. Each has the words of its server.',
      link: jobs({ kind: 'message', state: 'delayed' }, 'Delayed messages'),
    }),
  ),
  ...failingNow(
    deliveries,
    ({ delivered, retried, dropped }) => ({ failed: retried + dropped, well: delivered }),
    (failures) => ({
      title: `${failures} to deliver webhooks failed in the last ${RECENT_MINUTES} minutes`,
      text: 'Receivers cannot be reached, or answer with errors. Deliveries are repeated for up to 76 hours. Each webhook shows what its receiver answered.',
      link: {
        path: address('/console/webhooks', { state: 'unwell' }),
        label: 'Failing webhooks',
      },
    }),
  ),
];

const credentialConcerns = ({ invalidAccounts }: Overview): Concern[] =>
  invalidAccounts === 0
    ? []
    : [
        {
          tone: 'warning',
          title: `${bounded(invalidAccounts, 'account')} must sign in again`,
          text: 'The provider refuses the credentials, so nothing of these accounts is sent or synced. Make a sign-in link for the user on the page of the account.',
          link: {
            path: address('/console/accounts', { health: 'invalid-credentials' }),
            label: 'Accounts',
          },
        },
      ];

/** Where a sender is shown. */
function senderLink({ account, application }: RefusalState): Concern['link'] {
  if (account) return { path: `/console/accounts/${account.id}`, label: 'Account' };
  if (!application) return null;
  return { path: `/console/applications/${application.clientId}`, label: 'Application' };
}

const REFUSED_WORDS: Readonly<Record<RefusalState['kind'], { with: string; text: string }>> = {
  limit: {
    with: 'above a limit',
    text: 'Each got 429. If the sender does not slow down, pause or suspend it.',
  },
  login: {
    with: 'with wrong credentials',
    text: 'A token was revoked, has expired or was lost, a secret was replaced, or somebody guesses. Make a new one: carillon token create, or carillon application rotate-secret.',
  },
};

const refusalConcerns = ({ refusals }: Overview): Concern[] =>
  refusals.map((refusal) => {
    const { kind, refused, beganAt, seenAt, account, application, client } = refusal;
    const names = [
      account && `account ${account.email}`,
      application && `application ${application.name}`,
      client && `network address ${client}`,
    ].filter((name) => name !== null);
    const time = duration(Math.max(seenAt.getTime() - beganAt.getTime(), 60_000));
    const words = REFUSED_WORDS[kind];
    return {
      tone: 'warning',
      title: `${counted(refused, 'request')} ${words.with} within ${time}: ${names.join(', ')}`,
      text: words.text,
      link: senderLink(refusal),
    };
  });

/** A failover within the last day. `bad` if something may be missing. */
function failoverConcerns({ at, failover }: Overview): Concern[] {
  if (!failover) return [];
  const agoMs = at.getTime() - Date.parse(failover.at);
  const lostMs =
    failover.since === null ? null : Date.parse(failover.at) - Date.parse(failover.since);
  const link = {
    path: address('/console/audit', { action: 'instance.failed_over' }),
    label: 'Audit log',
  };
  const title = `The database failed over ${duration(agoMs)} ago`;
  if (failover.synchronous)
    return [
      {
        tone: 'warning',
        title,
        text: 'Nothing is missing: commits waited for a standby. Make sure that the old server is stopped, and that the new one has a standby.',
        link,
      },
    ];
  const missing =
    lostMs === null
      ? 'what the old server wrote last may be missing'
      : `up to ${duration(Math.max(lostMs, 1_000))} may be missing`;
  return [
    {
      tone: 'bad',
      title: `${title}; ${missing}`,
      text: `The standby did not have every commit. Messages that were accepted in that time may be lost: their applications should check. ${counted(failover.rows, 'due row')} of the queues are looked up before they are sent. Make sure that the old server is stopped.`,
      link,
    },
  ];
}

function diskConcerns({ at, disk }: Overview): Concern[] {
  const { limitBytes, freeBytes, fullAt } = disk;
  if (limitBytes === null || freeBytes === null) return [];
  const used = 1 - freeBytes / limitBytes;
  const leftMs = fullAt === null ? Infinity : fullAt.getTime() - at.getTime();
  if (used <= NEARLY_FULL && leftMs > FULL_SOON_MS) return [];
  return [
    {
      tone: used > 0.9 ? 'bad' : 'warning',
      title: `The disk of the database is ${Math.floor(used * 100)} % full: ${size(freeBytes)} left`,
      text: `${leftMs === Infinity ? '' : `At the pace of the last week it is full in ${duration(leftMs)}. `}When it is full, nothing is accepted or sent. The capacity page shows which tables are large and what limits them.`,
      link: { path: '/console/capacity', label: 'Capacity' },
    },
  ];
}

const ACCOUNTS = '/console/accounts';

function accountConcerns({ sync, failingServers }: Overview): Concern[] {
  const failing = failingServers.map(({ provider, server, failing: accounts }): Concern => {
    const query = { provider, health: 'sync-failing', ...(server === null ? {} : { server }) };
    return {
      tone: 'warning',
      title:
        server === null
          ? `${bounded(accounts, `${provider} mailbox`, `${provider} mailboxes`)} cannot be synced`
          : `${bounded(accounts, 'account')} at ${server} cannot be synced`,
      text: 'Each account shows why, in the words of its provider.',
      link: { path: address(ACCOUNTS, query), label: 'Accounts' },
    };
  });
  const behind = sync
    .filter(({ lagSeconds }) => lagSeconds > SYNC_LATE_SECONDS)
    .map(({ provider, lagSeconds }): Concern => ({
      tone: 'warning',
      title: `Mailboxes of ${provider} are ${duration(lagSeconds * 1000)} behind`,
      text: 'The provider may have asked for a pause, or workers are too few.',
      link: { path: address(ACCOUNTS, { provider, health: 'sync-late' }), label: 'Accounts' },
    }));
  return [...failing, ...behind];
}

function webhookConcerns({ webhooks: { failed, failing } }: Overview): Concern[] {
  if (failed + failing === 0) return [];
  const off = failed > 0;
  return [
    {
      tone: off ? 'bad' : 'warning',
      title: off
        ? `${counted(failed, 'webhook')} switched off`
        : `${counted(failing, 'webhook')} failing`,
      text: off
        ? 'Their receivers failed for 72 hours, or answered 410. When a receiver works again, activate its webhook: the events of the last 72 hours follow.'
        : 'Deliveries are repeated for up to 76 hours. The answers of the receiver say why they fail.',
      link: {
        path: address('/console/webhooks', { state: off ? 'failed' : 'failing' }),
        label: 'Webhooks',
      },
    },
  ];
}

/** An application near a ceiling, or one whose calls will cost money. */
const apiUseConcerns = ({ apiUse }: Overview): Concern[] =>
  apiUse.map((state): Concern => {
    const { application, api, counts, today, ceiling, paidForecast, costForecast } = state;
    const { title } = describeApi(api);
    const link = { path: `/console/applications/${application.clientId}`, label: 'Application' };
    const share = ceilingShare(state);
    if (ceiling === null || share < NEAR_CEILING)
      return {
        tone: 'warning',
        title: `Calls of ${title} by application ${application.name} will cost money this month`,
        text: `About ${count(paidForecast)} ${counts} above the free ones of each day are expected by the end of the month${costForecast === null ? '' : `, a price of ${costForecast.toFixed(2)}`}. Poll less often, let the company report changes, or set a ceiling.`,
        link,
      };
    return {
      tone: share >= 1 ? 'bad' : 'warning',
      title: `Application ${application.name} has used ${Math.floor(share * 100)} % of its ceiling of ${title} today`,
      text: `${count(today)} of ${count(ceiling)} ${counts}. From 80 % on older mail is not read, from 90 % on nothing is synced, and from 100 % on requests that need the company get 429. Messages are still sent. The count starts again at midnight UTC.`,
      link,
    };
  });

/** What needs an operator's attention, worst first. */
export function concernsOf(overview: Overview): Concern[] {
  const all = [
    ...processConcerns(overview),
    ...workerConcerns(overview),
    ...lostWorkerConcerns(overview),
    ...queueConcerns(overview),
    ...failoverConcerns(overview),
    ...diskConcerns(overview),
    ...requestConcerns(overview),
    ...attemptConcerns(overview),
    ...messageConcerns(overview),
    ...accountConcerns(overview),
    ...webhookConcerns(overview),
    ...credentialConcerns(overview),
    ...refusalConcerns(overview),
    ...apiUseConcerns(overview),
    ...accessConcerns(overview),
  ];
  return [
    ...all.filter(({ tone }) => tone === 'bad'),
    ...all.filter(({ tone }) => tone === 'warning'),
  ];
}
