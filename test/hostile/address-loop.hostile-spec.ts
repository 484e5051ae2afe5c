import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AddressChecks } from '../../src/accounts/grants/proofs/address-checks.ts';
import { AddressLoops } from '../../src/accounts/grants/proofs/address-loops.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { ScriptedSmtp, type SmtpScript } from '../support/scripted-smtp.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { FakeImap } from './support/fake-imap.ts';

describe('proof of an address by a mail', () => {
  let server: TestApp;
  let operator: ScriptedSmtp;
  let application: TestApplication;
  let imap: FakeImap;
  let smtp: ScriptedSmtp;
  let email: string;
  let count = 0;
  const script: SmtpScript = {};
  const running: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    operator = await ScriptedSmtp.start({ answer: (...step) => script.answer?.(...step) });
    server = await startTestApp({
      OPERATOR_SMTP_URL: `smtp+plain://carillon:pass%40word@127.0.0.1:${operator.port}`,
      OPERATOR_MAIL_FROM: 'check@operator.test',
      BASE_URL: 'https://mail.operator.test',
    });
  });
  beforeEach(async () => {
    delete script.answer;
    application = await createApplication(server.app, {
      name: 'Desk <b>http://evil.test</b>\r\nBcc: x@evil.test',
    });
    await integrate(application);
    imap = await FakeImap.start();
    smtp = await ScriptedSmtp.start();
    running.push(imap, smtp);
    count += 1;
    email = `ada${count}@victim.test`;
    operator.messages.length = 0;
    operator.commands.length = 0;
  });
  afterAll(async () => {
    await server.close();
    for (const one of [operator, ...running]) await one.stop();
  });

  const integrate = ({ basic }: TestApplication, change: object = {}) =>
    request(server.url)
      .post('/connect/integrations')
      .set(basic)
      .send({ name: 'Mail', provider: 'imap', ...change })
      .expect(200);

  async function connect(
    to = application,
    login = email,
  ): Promise<{ id: string; bearer: { authorization: string } }> {
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(to.basic)
      .send({
        provider: 'imap',
        settings: {
          email,
          imap_host: '127.0.0.1',
          imap_port: imap.port,
          imap_security: 'none',
          imap_password: 'any',
          imap_username: login,
          smtp_host: '127.0.0.1',
          smtp_port: smtp.port,
          smtp_security: 'none',
        },
      })
      .expect(200);
    return { id: body.data.id, bearer: { authorization: `Bearer ${body.data.access_token}` } };
  }

  // The server runs its own discovery too. The addresses that it has claimed count once it has
  // finished them.
  const discover = () =>
    until('discovery of every address', async () => {
      await server.app.get(AddressChecks).run();
      const waiting = await rowsOf(
        server,
        `select 1 from "grant" where prove_at is not null and proof is null and prove_failures = 0`,
      );
      return waiting.length === 0;
    });
  const loops = () => server.app.get(AddressLoops).run();
  const sent = () => operator.messages.filter(({ to }) => to.includes(email));
  const proofOf = async (id: string) =>
    (
      await rowsOf<{ proof: string | null }>(server, 'select proof from "grant" where id = $1', [
        id,
      ])
    )[0]?.proof;
  const mirrored = (id: string, subject: string) =>
    until('the mail in the mirror', async () => {
      const rows = await rowsOf(
        server,
        'select 1 from message where account_id = $1 and subject like $2',
        [id, subject],
      );
      return rows.length > 0;
    });
  async function mailed(): Promise<string> {
    await until('the mail', async () => {
      await discover();
      await loops();
      return sent().length > 0;
    });
    return sent()[0]?.content ?? '';
  }

  it('succeeds when the code arrives in the connected mailbox, and sends a webhook', async () => {
    await subscribe(server, application, ['account.proof_changed']);
    const { id } = await connect();
    const mail = await mailed();
    expect(mail).toContain('You do not have to do anything');
    expect(mail.toLowerCase()).not.toContain('http://evil.test');
    expect(mail).not.toMatch(/^Bcc:/im);
    expect(sent()[0]).toMatchObject({ from: 'check@operator.test', to: [email] });
    await loops();
    expect(await proofOf(id)).toBeNull();
    imap.deliver({ raw: mail });
    await mirrored(id, 'Check of your mail address%');
    await loops();
    expect(await proofOf(id)).toBe('loop');
    const events = await rowsOf(server, 'select 1 from webhook_event where application_id = $1', [
      application.id,
    ]);
    expect(events).toHaveLength(1);
    const again = await connect();
    expect(again.id).toBe(id);
    expect(await proofOf(id)).toBe('loop');
  });

  it('fails for a mail with another code, and stores the code nowhere', async () => {
    const { id } = await connect();
    const mail = await mailed();
    const code = /\[([0-9a-z]{25})\]/.exec(mail)?.[1] ?? '';
    expect(code).toHaveLength(25);
    imap.deliver({ raw: mail.replace(code, 'a'.repeat(25)) });
    await mirrored(id, `%${'a'.repeat(25)}%`);
    await loops();
    expect(await proofOf(id)).toBeNull();
    const [row] = await rowsOf<{ text: string }>(
      server,
      'select string_agg(l::text, $1) as text from address_loop l',
      [''],
    );
    expect(row?.text).not.toContain(code);
  });

  it("fails for another account that received the first account's mail", async () => {
    await connect();
    const mail = await mailed();
    const other = await connect(application, 'another login');
    imap.deliver({ raw: mail });
    await mirrored(other.id, 'Check of your mail address%');
    await loops();
    expect(await proofOf(other.id)).toBeNull();
  });

  it('proves no address that the account has got since the mail was sent', async () => {
    const { id } = await connect();
    const mail = await mailed();
    await rowsOf(server, 'update "grant" set email = $2 where id = $1', [id, `new-${email}`]);
    imap.deliver({ raw: mail });
    await mirrored(id, 'Check of your mail address%');
    await loops();
    expect(await proofOf(id)).toBeNull();
  });

  it('sends at most three mails a day to an address, whichever accounts connect it', async () => {
    for (let index = 0; index < 6; index += 1) {
      const another = await createApplication(server.app);
      await integrate(another);
      await connect(another, `login ${index}`);
    }
    await discover();
    await Promise.all([loops(), loops(), loops()]);
    await loops();
    expect(sent()).toHaveLength(3);
  });

  it('sends one mail if several processes check at once, and no second one on the same day', async () => {
    await connect();
    await discover();
    await Promise.all([loops(), loops(), loops()]);
    await loops();
    expect(sent()).toHaveLength(1);
  });

  it("waits while the operator's mailing service refuses mail", async () => {
    script.answer = (step) => (step === 'mail' ? '451 4.3.0 not now' : undefined);
    await connect();
    await discover();
    await loops();
    await loops();
    // The second run comes too early for another attempt.
    expect(operator.commands.filter((line) => /^MAIL/i.test(line))).toHaveLength(1);
    expect(sent()).toEqual([]);
    const rows = await rowsOf(server, 'select failed from address_loop where address = $1', [
      email,
    ]);
    expect(rows).toEqual([{ failed: true }]);
    delete script.answer;
    await rowsOf(
      server,
      `update address_loop set sent_at = sent_at - interval '11 minutes' where address = $1`,
      [email],
    );
    await loops();
    expect(sent()).toHaveLength(1);
  });

  it('must succeed before tokens are accepted if proofs are required', async () => {
    const strict = await createApplication(server.app);
    await integrate(strict, { require_proven_address: true });
    const { id, bearer } = await connect(strict);
    await request(server.url).get('/account').set(bearer).expect(403);
    imap.deliver({ raw: await mailed() });
    await mirrored(id, 'Check of your mail address%');
    await loops();
    const { body } = await request(server.url).get('/account').set(bearer).expect(200);
    expect(body).toMatchObject({ address_proven: true, proof: 'loop' });
  });
});
