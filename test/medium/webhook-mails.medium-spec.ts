import PostalMime, { type Email } from 'postal-mime';
import { ApplicationsService } from '../../src/accounts/applications/applications.service.ts';
import { WebhookMails } from '../../src/accounts/webhook-mails/webhook-mails.ts';
import { OperatorApplications } from '../../src/operator/applications/operator-applications.ts';
import { Database } from '../../src/platform/database/sql.ts';
import {
  changeWebhookState,
  stopWebhook,
} from '../../src/platform/webhooks/change-webhook-state.ts';
import type { AttemptTally } from '../../src/platform/webhooks/delivery/delivery-policy.ts';
import { recordHealth } from '../../src/platform/webhooks/delivery/record-health.ts';
import { leaseWebhookMail } from '../../src/platform/webhooks/mails/due-mails.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { loggedLines } from '../support/log-watch.ts';
import { ScriptedSmtp, type SmtpScript } from '../support/scripted-smtp.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GONE: AttemptTally = { delivered: 0, failed: 1, gone: true, detail: '410' };
const FAILED: AttemptTally = { delivered: 0, failed: 1, gone: false, detail: '500' };
const DELIVERED: AttemptTally = { delivered: 1, failed: 0, gone: false };

const incidents = (incident: string, application: string) =>
  loggedLines()
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['incident'] === incident && line['application'] === application);

describe('mails about webhooks', () => {
  let server: TestApp;
  let clock: TestClock;
  let smtp: ScriptedSmtp;
  let database: Database;
  let application: TestApplication;
  /** Contact address of the application. Mails of earlier tests go to others. */
  let address: string;
  let made = 0;
  const script: SmtpScript = {};

  beforeAll(async () => {
    clock = new TestClock();
    smtp = await ScriptedSmtp.start({ answer: (...step) => script.answer?.(...step) });
    server = await startTestApp(
      {
        ROLES: 'api',
        OPERATOR_SMTP_URL: `smtp+plain://127.0.0.1:${smtp.port}`,
        OPERATOR_MAIL_FROM: 'carillon@operator.test',
        BASE_URL: 'https://mail.operator.test',
      },
      { clock },
    );
    database = server.app.get(Database);
  });
  beforeEach(async () => {
    delete script.answer;
    await begin('Front desk');
  });
  afterAll(async () => {
    await server.close();
    await smtp.stop();
  });

  async function begin(name: string): Promise<void> {
    made += 1;
    address = `team-${made}@app.test`;
    application = await createApplication(server.app, { name, contactEmail: address });
  }
  const contact = (contactEmail: string | null) =>
    server.app.get(ApplicationsService, { strict: false }).update(application.id, { contactEmail });
  const hook = (path = '/hooks?key=hidden') =>
    createWebhook(server.app, application, `https://receiver.test${path}`);
  /** Records results of deliveries to these webhooks, as the dispatcher does. */
  const record = (ids: readonly string[], tally: AttemptTally) =>
    database.transaction((sql) =>
      recordHealth(sql, new Map(ids.map((id) => [id, tally])), clock.now()),
    );
  const send = () => server.app.get(WebhookMails, { strict: false }).run();
  /** Lets time pass, and then sends what is due. */
  async function elapse(ms: number): Promise<void> {
    clock.advance(ms);
    await send();
  }
  const accepted = (by = address) => smtp.messages.filter(({ to }) => to.includes(by));
  /** The mails that the server has accepted, as a mail program reads them. */
  const mails = (): Promise<Email[]> =>
    Promise.all(accepted().map(({ content }) => PostalMime.parse(content)));
  const attempts = () => smtp.commands.filter((line) => line.includes(`<${address}>`)).length;

  it('say which webhook was stopped, why, and what to do, without the query of its address', async () => {
    const id = await hook();
    await record([id], GONE);
    await send();
    expect(accepted()).toEqual([]);
    await elapse(MINUTE);
    expect(accepted()).toHaveLength(1);
    const [sent] = accepted();
    expect(sent).toMatchObject({ from: 'carillon@operator.test', to: [address] });
    expect(sent?.content).toContain('Auto-Submitted: auto-generated');
    const [{ subject, text } = {}] = await mails();
    expect(subject).toBe('Carillon: a webhook was stopped (Front desk)');
    expect(text).toContain('https://receiver.test/hooks was stopped.');
    expect(text).toContain(id);
    expect(text).toContain(
      `PUT https://mail.operator.test/a/${application.clientId}/webhooks/<id> with {"state": "active"}`,
    );
    expect(text).toContain('https://mail.operator.test/console/webhooks');
    expect(sent?.content).not.toContain('hidden');
    await elapse(2 * HOUR);
    expect(accepted()).toHaveLength(1);
  });

  it('follow a webhook through failing, failed and active', async () => {
    const id = await hook();
    await record([id], FAILED);
    clock.advance(16 * MINUTE);
    await record([id], FAILED);
    await elapse(MINUTE);
    clock.advance(72 * HOUR);
    await record([id], FAILED);
    await elapse(MINUTE);
    // Only its owner can end this state, and knows it then.
    await database.query(`update webhook set state = 'failing' where id = $1`, [id]);
    clock.advance(2 * HOUR);
    await record([id], DELIVERED);
    await elapse(MINUTE);
    expect((await mails()).map(({ subject }) => subject)).toEqual([
      'Carillon: a webhook fails (Front desk)',
      'Carillon: a webhook was stopped (Front desk)',
      'Carillon: a webhook works again (Front desk)',
    ]);
  });

  it('report many webhooks that fail together with one mail, and describe the first 20', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 25; n += 1) ids.push(await hook(`/hooks/${n}/`));
    for (const id of ids) await record([id], GONE);
    await elapse(MINUTE);
    await elapse(2 * HOUR);
    expect(accepted()).toHaveLength(1);
    const [{ subject, text = '' } = {}] = await mails();
    expect(subject).toBe('Carillon: webhooks: 25 stopped (Front desk)');
    expect(ids.filter((id) => text.includes(id))).toHaveLength(20);
    expect(text).toContain('5 more webhooks have changed their state.');
  });

  it('are at most one an hour for a webhook that fails and recovers all the time', async () => {
    const id = await hook();
    for (let minute = 0; minute < 300; minute += 20) {
      await record([id], FAILED);
      await elapse(16 * MINUTE);
      await record([id], FAILED);
      await elapse(2 * MINUTE);
      await record([id], DELIVERED);
      await elapse(2 * MINUTE);
    }
    expect(accepted().length).toBeGreaterThan(1);
    expect(accepted().length).toBeLessThanOrEqual(6);
  });

  it('do not mention a webhook that recovers before the mail leaves', async () => {
    const [ill, well] = [await hook('/ill'), await hook('/well')];
    await database.query(`update webhook set state = 'failing' where id = any($1)`, [[ill, well]]);
    await record([ill], GONE);
    await record([well], DELIVERED);
    await elapse(MINUTE);
    const [{ subject, text } = {}] = await mails();
    expect(subject).toBe('Carillon: a webhook was stopped (Front desk)');
    expect(text).not.toContain(well);
  });

  it('say nothing about a webhook that its owner or an operator has stopped or activated', async () => {
    const [stopped, activated] = [await hook('/stopped'), await hook('/activated')];
    await record([activated], GONE);
    await elapse(MINUTE);
    expect(accepted()).toHaveLength(1);
    const at = clock.now();
    await database.transaction((sql) => stopWebhook(sql, stopped, at));
    const change = { id: activated, before: 'failed', to: 'active', at } as const;
    await database.transaction((sql) => changeWebhookState(sql, change));
    await contact('other@app.test');
    await elapse(2 * HOUR);
    expect(accepted()).toHaveLength(1);
    expect(accepted('other@app.test')).toEqual([]);
  });

  it('report a change that happens while a mail is being sent an hour later', async () => {
    const [first, second] = [await hook('/first'), await hook('/second')];
    await record([first], GONE);
    let recorded: Promise<void> = Promise.resolve();
    script.answer = (step) => {
      if (step === 'data') recorded = record([second], GONE);
      return undefined;
    };
    await elapse(MINUTE);
    await recorded;
    delete script.answer;
    await elapse(59 * MINUTE);
    expect(accepted()).toHaveLength(1);
    await elapse(2 * MINUTE);
    const [before, after] = await mails();
    expect(after?.text).toContain(second);
    expect(after?.text).not.toContain(first);
    expect(after?.messageId).not.toBe(before?.messageId);
  });

  it('are sent once if several workers look at the same time', async () => {
    await record([await hook()], GONE);
    clock.advance(MINUTE);
    await Promise.all([send(), send(), send()]);
    expect(accepted()).toHaveLength(1);
  });

  it('are tried five times within eight hours, and then given up until the next change', async () => {
    script.answer = (step) => (step === 'rcpt' ? '451 4.3.0 not now' : undefined);
    const id = await hook('/first');
    await record([id], GONE);
    for (let minute = 0; minute < 8 * 60; minute += 1) await elapse(MINUTE);
    expect(attempts()).toBe(5);
    expect(incidents('webhook.mail-delayed', application.id)).toHaveLength(4);
    expect(incidents('webhook.mail-failed', application.id)).toHaveLength(1);
    await elapse(48 * HOUR);
    expect(attempts()).toBe(5);
    delete script.answer;
    await record([await hook('/second')], GONE);
    await elapse(MINUTE);
    expect((await mails())[0]?.text).toContain(id);
  });

  it('are given up if five processes have ended before they could record a result', async () => {
    await record([await hook()], GONE);
    for (let process = 1; process <= 5; process += 1) {
      clock.advance(5 * MINUTE);
      const until = new Date(clock.now().getTime() + 5 * MINUTE);
      while ((await leaseWebhookMail(database, clock.now(), until)) !== undefined);
    }
    await elapse(5 * MINUTE);
    await elapse(48 * HOUR);
    expect(attempts()).toBe(0);
    expect(incidents('webhook.mail-failed', application.id)).toHaveLength(1);
  });

  it('are sent again with the same Message-ID if the connection breaks at the end', async () => {
    await record([await hook()], GONE);
    const tried: (string | undefined)[] = [];
    script.answer = (step, content) => {
      if (step !== 'message' || !content.includes(address)) return undefined;
      tried.push(/^Message-ID:\s+(\S+)$/im.exec(content)?.[1]);
      return tried.length === 1 ? { end: 'close' } : undefined;
    };
    await elapse(MINUTE);
    await elapse(MINUTE);
    expect(accepted()).toHaveLength(1);
    expect(tried).toHaveLength(2);
    expect(tried[0]).toMatch(/^<webhooks\..*>$/);
    expect(tried[1]).toBe(tried[0]);
  });

  it('are sent to others although an address is refused', async () => {
    const refused = address;
    script.answer = (step, line) =>
      step === 'rcpt' && line.includes(refused) ? '550 5.1.1 unknown user' : undefined;
    await record([await hook()], GONE);
    await begin('Back desk');
    await record([await hook()], GONE);
    await elapse(MINUTE);
    expect(accepted(refused)).toEqual([]);
    expect(accepted()).toHaveLength(1);
  });

  it('show operators why the last one could not be sent, until one is sent', async () => {
    const shown = async () =>
      (await server.app.get(OperatorApplications, { strict: false }).get(application.id))
        .mailFailure;
    script.answer = (step, line) =>
      step === 'rcpt' && line.includes(address) ? '550 5.1.1 unknown user' : undefined;
    await record([await hook()], GONE);
    await elapse(MINUTE);
    expect(await shown()).toEqual({
      at: clock.now(),
      reason: expect.stringContaining('550 5.1.1 unknown user'),
    });
    delete script.answer;
    await elapse(MINUTE);
    expect(accepted()).toHaveLength(1);
    expect(await shown()).toBeNull();
  });

  it('are not scheduled without a contact address; a new address learns what fails already', async () => {
    await contact(null);
    const id = await hook();
    await record([id], GONE);
    const scheduled = 'select 1 from webhook_mail where application_id = $1';
    expect(await database.query(scheduled, [application.id])).toEqual([]);
    await contact('late@app.test');
    await elapse(MINUTE);
    expect(accepted()).toEqual([]);
    expect(accepted('late@app.test')[0]?.content).toContain(id);
  });
});

describe('mails about webhooks without a mail server', () => {
  it('are reported in the log if there is a contact address', async () => {
    const clock = new TestClock();
    const server = await startTestApp({ ROLES: 'api' }, { clock });
    try {
      const application = await createApplication(server.app, { contactEmail: 'team@app.test' });
      const database = server.app.get(Database);
      const id = await createWebhook(server.app, application, 'https://receiver.test/hooks');
      await database.transaction((sql) => recordHealth(sql, new Map([[id, GONE]]), clock.now()));
      clock.advance(MINUTE);
      await server.app.get(WebhookMails, { strict: false }).run();
      expect(incidents('webhook.mail-failed', application.id)).toHaveLength(1);
    } finally {
      await server.close();
    }
  });
});
