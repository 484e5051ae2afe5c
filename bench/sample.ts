import { compose } from '../src/formats/mime/compose.ts';

const HTML = `<p>Hello Bo</p>${'<p>The figures of last month are in, and they are better than anybody had expected.</p>'.repeat(12)}`;

/** Body of POST /v2/outbox, about 1.1 kB. All sides accept and send this message. */
export const SAMPLE_BODY = {
  to: [{ email: 'bo@example.test', name: 'Bo' }],
  subject: 'The figures of last month',
  body: HTML,
};

/** The same message in MIME form. */
export function sampleMime(): Promise<Buffer> {
  return compose({
    from: { name: 'Ada', email: 'ada@bench.test' },
    to: SAMPLE_BODY.to,
    cc: [],
    bcc: [],
    replyTo: [],
    subject: SAMPLE_BODY.subject,
    html: HTML,
    messageIdHeader: '<019aa1b2-0000-7000-8000-000000000001.0123456789@bench.test>',
    date: new Date(),
  });
}
