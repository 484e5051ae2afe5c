import { field, text } from '../lib/api-client.ts';
import type { Cast } from './context.ts';
import { isSigned } from './receiver.ts';
import { until } from '../lib/report.ts';
import type { Sent } from './steps-outbox.ts';

/** Subscribes to jobs. The receiver confirms the subscription by answering the challenge. */
export async function subscribe({ report, api, application, receiver }: Cast): Promise<void> {
  report.step('The application subscribes to the results of jobs');
  const { status, body } = await api.call(
    application.owner,
    'POST',
    `/a/${application.clientId}/webhooks`,
    {
      body: {
        callback_url: `${receiver.url}/webhooks`,
        triggers: ['job.successful', 'job.failed'],
        state: 'active',
      },
    },
  );
  report.verify('active', status === 200 && text(body, 'state') === 'active', body);
  report.verify(
    `${receiver.url} first got the challenge, and answered it`,
    receiver.challenges === 1,
  );
}

async function notification(
  { receiver }: Cast,
  sent: Sent,
): Promise<{ signed: (secret: string) => boolean; delta: unknown }> {
  return until(`the webhook about "${sent.subject}"`, async () => {
    for (const delivery of receiver.deliveries) {
      const delta = delivery.deltas.find(
        (one) => field(one, 'object_data', 'attributes', 'job_status_id') === sent.jobStatusId,
      );
      if (delta) return { delta, signed: (secret) => isSigned(delivery, secret) };
    }
    return undefined;
  });
}

/** Shows the deliveries that the receiver got, and verifies their signatures. */
export async function verifyNotifications(
  cast: Cast,
  successes: readonly Sent[],
  failure: Sent,
): Promise<void> {
  const { report, application } = cast;
  report.step('The receiver was notified by signed webhooks');
  for (const sent of [...successes, failure]) {
    const type = sent === failure ? 'job.failed' : 'job.successful';
    const { delta, signed } = await notification(cast, sent);
    report.received(`POST /webhooks   about "${sent.subject}"`, {
      type: field(delta, 'type'),
      attributes: field(delta, 'object_data', 'attributes'),
    });
    report.verify(
      `${type}, with a valid signature`,
      field(delta, 'type') === type && signed(application.clientSecret),
      delta,
    );
    report.verify(
      'another secret does not produce that signature',
      !signed(`${application.clientSecret}x`),
    );
  }
}
