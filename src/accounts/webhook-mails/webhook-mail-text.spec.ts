import type { ReportedWebhook } from '../../platform/webhooks/mails/due-mails.ts';
import { type WebhookMailContent, webhookMailText } from './webhook-mail-text.ts';

const AT = new Date('2026-11-28T14:02:30Z');

const webhook = (change: Partial<ReportedWebhook> = {}): ReportedWebhook => ({
  id: '019aa1b2-0000-7000-8000-000000000001',
  state: 'failing',
  callbackUrl: 'https://app.test/hooks?token=hidden',
  failingSince: AT,
  failures: 12,
  attemptedAt: AT,
  detail: 'the receiver answered 500',
  ...change,
});

const mail = (described: ReportedWebhook[], change: Partial<WebhookMailContent> = {}) =>
  webhookMailText({
    to: 'team@app.test',
    application: { clientId: 'abc', name: 'Front desk' },
    changed: described,
    described,
    server: 'https://mail.test',
    console: null,
    ...change,
  });

describe('the text of a mail about webhooks', () => {
  it('says since when a webhook fails, what its receiver answered, and what to do', () => {
    const { subject, text } = mail([webhook()]);
    expect(subject).toBe('Carillon: a webhook fails (Front desk)');
    expect(text.replaceAll('\r\n', '\n')).toBe(`\
Webhooks of the application "Front desk" have changed their state (Carillon at https://mail.test).

https://app.test/hooks fails.
Every delivery has failed since 2026-11-28 14:02 UTC (12 failures). Carillon goes on trying.
Last failed attempt: 2026-11-28 14:02 UTC, the receiver answered 500
Webhook id: 019aa1b2-0000-7000-8000-000000000001

What to do:
- See what was tried and why it failed: GET https://mail.test/a/abc/webhooks/<id>/deliveries
- Repair the receiver.
- A failing webhook recovers by itself with its first successful delivery. After 72 hours it is stopped. An event that fails for 76 hours is dropped.
- The API is described at https://mail.test/docs

You get this mail because team@app.test is the contact address of the application. Carillon sends at most one such mail an hour.`);
  });

  it('asks for nothing if all webhooks have recovered', () => {
    const { subject, text } = mail([webhook({ state: 'active', failingSince: null })]);
    expect(subject).toBe('Carillon: a webhook works again (Front desk)');
    expect(text).toContain('You do not have to do anything.');
    expect(text).not.toContain('What to do');
  });

  it('counts the states in the subject, and the webhooks that it does not describe', () => {
    const states = ['failed', 'failed', 'failing', 'active'] as const;
    const changed = states.map((state) => ({ id: 'x', state }));
    const { subject, text } = mail([webhook({ state: 'failed' })], { changed });
    expect(subject).toBe('Carillon: webhooks: 2 stopped, 1 failing, 1 working again (Front desk)');
    expect(text).toContain('3 more webhooks have changed their state.');
    const two = mail([webhook({ state: 'failed' })], { changed: changed.slice(0, 2) });
    expect(two.text).toContain('One more webhook has changed its state.');
  });

  it('names the console only if there is one', () => {
    const { text } = mail([webhook()], { console: 'https://ops.test' });
    expect(text).toContain('https://ops.test/console/webhooks');
    expect(mail([webhook()]).text).not.toContain('console');
  });

  it('bounds what others have chosen, and keeps it from adding lines, headers or links', () => {
    const { subject, text } = mail(
      [
        webhook({
          callbackUrl: `https://app.test/${'a'.repeat(2_000)}?token=hidden`,
          detail: `first\r\nsecond\u202e${'b'.repeat(2_000)}`,
        }),
      ],
      { application: { clientId: 'abc', name: 'Desk\r\nBcc: x@evil.test <http://evil.test>' } },
    );
    expect(subject).not.toMatch(/[\r\n@:/]{2}|evil\.test/);
    expect(text).not.toMatch(/http:\/\/evil\.test|hidden|\u202e/);
    expect(text).toContain('first second');
    expect(text.length).toBeLessThan(2_500);
  });
});
