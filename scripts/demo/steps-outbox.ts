import { field, items, only, text } from '../lib/api-client.ts';
import { type Cast, clock, unixNow } from './context.ts';
import { until } from '../lib/report.ts';

/** A message that the outbox has accepted. */
export interface Sent {
  jobStatusId: string;
  subject: string;
}

const HOUR = 3600;
const accepted = only('job_status_id', 'status');

async function post(
  { report, api, ada, bo }: Cast,
  subject: string,
  more: object = {},
): Promise<Sent> {
  const { status, body } = await api.call(ada, 'POST', '/v2/outbox', {
    body: { to: [{ email: bo.email, name: 'Bo' }], subject, body: `<p>${subject}</p>`, ...more },
    show: (all) => ({
      ...accepted(all),
      original_data: only(
        'subject',
        'send_at',
        'retry_limit_datetime',
      )(field(all, 'original_data')),
    }),
  });
  report.verify(
    'accepted: 202, pending',
    status === 202 && field(body, 'status') === 'pending',
    body,
  );
  return { jobStatusId: text(body, 'job_status_id'), subject };
}

/** Waits until the job is no longer pending, and returns it. */
function outcome({ api, ada }: Cast, sent: Sent): Promise<unknown> {
  return until(`the result of "${sent.subject}"`, async () => {
    const { body } = await api.call(ada, 'GET', `/job-statuses/${sent.jobStatusId}`, {
      silent: true,
    });
    return field(body, 'status') === 'pending' ? undefined : body;
  });
}

async function arrived({ api, bo }: Cast, subject: string): Promise<unknown> {
  const query = new URLSearchParams({ subject, in: 'inbox' });
  return until(`"${subject}" in Bo's inbox`, async () => {
    const { body } = await api.call(bo, 'GET', `/messages?${query.toString()}`, { silent: true });
    return items(body)[0];
  });
}

async function verifyDelivered(cast: Cast, sent: Sent): Promise<unknown> {
  const { report } = cast;
  const job = await outcome(cast, sent);
  report.received('job status', only('action', 'object', 'status', 'send_at')(job));
  report.verify('sent: successful', field(job, 'status') === 'successful', job);
  const message = await arrived(cast, sent.subject);
  report.verify(
    `Bo received it at ${clock(Number(field(message, 'date')))}`,
    field(message, 'from', 0, 'email') === cast.ada.email,
  );
  return message;
}

/** Sends a message without a send time. */
export async function sendNow(cast: Cast): Promise<Sent> {
  cast.report.step('Ada sends a message now');
  const sent = await post(cast, 'Sent at once');
  await verifyDelivered(cast, sent);
  return sent;
}

/**
 * Schedules three messages: one is sent at its time, one is edited before it, and one is cancelled
 * before it.
 */
export async function schedule(cast: Cast): Promise<{ delivered: Sent[]; cancelled: Sent }> {
  const { report, api, ada } = cast;
  report.step('Ada schedules a message a few seconds ahead');
  const sendAt = unixNow() + 4;
  const scheduled = await post(cast, 'Sent at its time', { send_at: sendAt });
  report.note(`due at ${clock(sendAt)}; meanwhile Ada writes two others`);

  report.step('Ada edits a message scheduled for later');
  const draft = await post(cast, 'Typo in teh subject', { send_at: unixNow() + HOUR });
  const edited = { jobStatusId: draft.jobStatusId, subject: 'No typo in the subject' };
  const newTime = unixNow() + 3;
  const change = await api.call(ada, 'PATCH', `/v2/outbox/${draft.jobStatusId}`, {
    body: { subject: edited.subject, send_at: newTime },
    show: (all) => ({
      ...accepted(all),
      original_data: only('subject', 'send_at', 'original_send_at')(field(all, 'original_data')),
    }),
  });
  report.verify(
    'it has the new subject and the new time',
    change.status === 200 && field(change.body, 'original_data', 'send_at') === newTime,
    change.body,
  );

  report.step('Ada cancels a message scheduled for later');
  const cancelled = await post(cast, 'Better not sent', { send_at: unixNow() + HOUR });
  const removal = await api.call(ada, 'DELETE', `/v2/outbox/${cancelled.jobStatusId}`, {
    show: only('job_status_id', 'status', 'reason'),
  });
  report.verify('200', removal.status === 200, removal);
  const job = await outcome(cast, cancelled);
  report.received('job status', only('status', 'reason')(job));
  report.verify(
    'it is cancelled, with a reason',
    field(job, 'status') === 'cancelled' && Boolean(field(job, 'reason')),
    job,
  );

  report.step('The scheduled messages arrive on time');
  for (const [sent, due] of [
    [edited, newTime],
    [scheduled, sendAt],
  ] as const) {
    const message = await verifyDelivered(cast, sent);
    const late = Number(field(message, 'date')) - due;
    report.verify(
      `"${sent.subject}" was due at ${clock(due)}: ${late <= 0 ? 'on the second' : `${late} s late`}, not early`,
      late >= 0 && late <= cast.server.patienceSeconds,
      late,
    );
  }
  return { delivered: [scheduled, edited], cancelled };
}

/** Sends to a recipient that the provider refuses permanently. */
export async function sendInVain(cast: Cast): Promise<Sent> {
  cast.report.step(
    'Ada writes to an address that the provider refuses (a magic recipient of the sandbox)',
  );
  const refused = await post(cast, 'To nobody', { to: [{ email: 'rejected@sandbox.test' }] });
  const job = await outcome(cast, refused);
  cast.report.received('job status', only('status', 'reason')(job));
  cast.report.verify(
    "it failed, with the provider's own words",
    field(job, 'status') === 'failed' && String(field(job, 'reason')).includes('550'),
    job,
  );
  return refused;
}

/** Lists the jobs and verifies that each has ended. */
export async function listJobs({ report, api, ada }: Cast, sends: readonly Sent[]): Promise<void> {
  report.step('Ada fetches her job statuses');
  const { body } = await api.call(ada, 'GET', '/job-statuses?limit=20', {
    show: (all) =>
      items(all).map((job) =>
        only('action', 'status', ...(field(job, 'reason') ? ['reason'] : []))(job),
      ),
  });
  const hasEnded = ({ jobStatusId }: Sent): boolean => {
    const job = items(body).find((one) => field(one, 'job_status_id') === jobStatusId);
    return job !== undefined && field(job, 'status') !== 'pending';
  };
  report.verify(`all ${sends.length} sends have ended`, sends.every(hasEnded), body);
}
