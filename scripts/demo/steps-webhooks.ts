import { field, text } from './api-client.ts';
import type { Cast } from './context.ts';
import { isSigned } from './receiver.ts';
import { until } from './report.ts';
import type { Sent } from './steps-outbox.ts';

/** A subscription, confirmed by the challenge. */
export async function subscribe({ report, api, application, receiver }: Cast): Promise<void> {
  report.step('The application subscribes to the ends of jobs');
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
    `${receiver.url} was asked for the challenge first, and answered it`,
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

/** What the receiver got, and whether it can be trusted. */
export async function verifyNotifications(
  cast: Cast,
  successes: readonly Sent[],
  failure: Sent,
): Promise<void> {
  const { report, application } = cast;
  report.step('The receiver has been told by webhook, signed');
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
    report.verify('which another secret does not make', !signed(`${application.clientSecret}x`));
  }
}
