import {
  ALL_PHASES,
  at,
  controlOf,
  failureOf,
  smallMessage,
  SHORT,
  SmtpFixture,
} from '../../../test/support/smtp-fixture.ts';
import type { SmtpStep } from '../../../test/support/scripted-smtp.ts';

const fixture = new SmtpFixture();
afterEach(() => fixture.stop());

const PLAIN = ['8BITMIME', 'SIZE 1000000'];
const mailOf = (commands: readonly string[]) => commands.filter((line) => line.startsWith('MAIL'));

describe('SmtpSender: messages', () => {
  it.each([
    ['with pipelining', undefined],
    ['without', PLAIN],
  ])(
    'delivers the message as composed and announces all phases in order (%s)',
    async (_, extensions) => {
      const server = await fixture.serve(extensions ? { extensions } : {});
      const { control, phases } = controlOf();
      const sent = smallMessage(['a@there.test', 'b@there.test'], {
        body: '.dot\r\n..two\r\n.\r\n\r\n.end',
      });
      const receipt = await fixture.sender().send('k', at(server), sent, control);
      expect(receipt).toEqual({
        accepted: ['a@there.test', 'b@there.test'],
        refused: [],
        deferred: [],
        response: '250 2.0.0 Ok: queued as 4711',
      });
      expect(phases).toEqual(ALL_PHASES);
      expect(server.messages).toMatchObject([
        {
          from: 'me@here.test',
          to: ['a@there.test', 'b@there.test'],
          content: sent.mime.toString(),
        },
      ]);
      expect(mailOf(server.commands)).toEqual([
        `MAIL FROM:<me@here.test> SIZE=${sent.mime.length}`,
      ]);
    },
  );

  it('sends a short message in one packet with its final dot', async () => {
    const server = await fixture.serve();
    await fixture.sender().send('k', at(server), smallMessage(), controlOf().control);
    expect(server.messages).toMatchObject([{ pieces: 1 }]);
  });

  it('delivers a large message completely', async () => {
    const server = await fixture.serve({ extensions: ['PIPELINING'] });
    const line = '.'.repeat(60);
    const sent = smallMessage(undefined, {
      body: Array.from({ length: 50_000 }, (_, n) => `${line}${n}`).join('\r\n'),
    });
    await fixture.sender().send('k', at(server), sent, controlOf().control);
    expect(server.messages[0]?.content === sent.mime.toString()).toBe(true);
  });

  it('announces 8BITMIME for a message that needs it and delivers it unchanged', async () => {
    const server = await fixture.serve();
    const sent = smallMessage(undefined, { body: 'Grüße aus Köln' });
    await fixture.sender().send('k', at(server), sent, controlOf().control);
    expect(mailOf(server.commands)[0]).toContain(' BODY=8BITMIME');
    expect(Buffer.from(server.messages[0]?.content ?? '', 'latin1').equals(sent.mime)).toBe(true);
  });

  it("rejects a message over the server's size limit without sending MAIL", async () => {
    const server = await fixture.serve({ extensions: ['PIPELINING', 'SIZE 100'] });
    const error = await failureOf(
      fixture
        .sender()
        .send(
          'k',
          at(server),
          smallMessage(undefined, { body: 'x'.repeat(200) }),
          controlOf().control,
        ),
    );
    expect([error.code, error.phase]).toEqual(['rejected', 'envelope']);
    expect(error.message).toContain('accepts at most 100');
    expect(mailOf(server.commands)).toEqual([]);
  });

  it('sends through servers that only know HELO', async () => {
    const server = await fixture.serve({
      answer: (step, line) =>
        step === 'ehlo' && line.startsWith('EHLO') ? '502 5.5.1 what?' : undefined,
    });
    await fixture.sender().send('k', at(server), smallMessage(), controlOf().control);
    expect(server.messages).toHaveLength(1);
  });
});

describe('SmtpSender: recipients', () => {
  const answers: Record<string, string> = {
    'gone@there.test': '550 5.1.1 No such user',
    'later@there.test': '450 4.2.0 Greylisted, try again in 300 seconds',
    'fast@there.test': '450 4.7.1 Rate limit, slow down',
    'quota@there.test': '550 5.4.5 Daily user sending limit exceeded',
  };
  const answer = (step: SmtpStep, line: string) =>
    step === 'rcpt'
      ? Object.entries(answers).find(([email]) => line.includes(email))?.[1]
      : undefined;
  const gone = { email: 'gone@there.test', reason: '550 5.1.1 No such user' };

  describe.each([
    ['with pipelining', undefined],
    ['without pipelining', PLAIN],
  ])('%s', (_, extensions) => {
    const serve = () => fixture.serve({ answer, ...(extensions ? { extensions } : {}) });

    it('reports accepted, refused and deferred recipients separately', async () => {
      const server = await serve();
      const receipt = await fixture
        .sender()
        .send(
          'k',
          at(server),
          smallMessage(['gone@there.test', 'a@there.test', 'later@there.test', 'quota@there.test']),
          controlOf().control,
        );
      expect(receipt).toMatchObject({
        accepted: ['a@there.test'],
        refused: [gone],
        deferred: [
          { email: 'later@there.test', reason: answers['later@there.test'] },
          { email: 'quota@there.test', reason: answers['quota@there.test'] },
        ],
      });
      expect(server.messages.map(({ to }) => to)).toEqual([['a@there.test']]);
    });

    it.each([
      [['gone@there.test'], 'rejected', null, ['gone@there.test']],
      [['later@there.test'], 'temporary', 300, []],
      [['later@there.test', 'gone@there.test'], 'temporary', 300, ['gone@there.test']],
      [
        ['gone@there.test', 'fast@there.test', 'later@there.test'],
        'rate-limited',
        300,
        ['gone@there.test'],
      ],
      [
        ['gone@there.test', 'quota@there.test', 'later@there.test'],
        'quota-exhausted',
        300,
        ['gone@there.test'],
      ],
    ] as const)(
      'fails when no recipient of %j is accepted: %s',
      async (recipients, code, seconds, refused) => {
        const server = await serve();
        const { control, phases } = controlOf();
        const smtp = fixture.sender();
        const error = await failureOf(
          smtp.send('k', at(server), smallMessage(recipients), control),
        );
        expect([error.code, error.phase, error.retryAfterSeconds]).toEqual([
          code,
          'envelope',
          seconds,
        ]);
        expect(error.refused.map(({ email }) => email)).toEqual(refused);
        expect(phases).toEqual(['connect', 'login', 'envelope']);
        expect(server.messages).toEqual([]);
        // The connection can be used for the next message.
        await smtp.send('k', at(server), smallMessage(), controlOf().control);
        expect(server.messages).toHaveLength(1);
      },
    );

    it('reports recipients refused for good also when the content is refused or its outcome is unknown', async () => {
      for (const end of ['550 5.7.1 Spam', { end: 'close' }] as const) {
        const server = await fixture.serve({
          answer: (step, line) => (step === 'message' ? end : answer(step, line)),
          ...(extensions ? { extensions } : {}),
        });
        const recipients = ['gone@there.test', 'a@there.test', 'later@there.test'];
        const error = await failureOf(
          fixture.sender().send('k', at(server), smallMessage(recipients), controlOf().control),
        );
        expect(error.code).toBe(typeof end === 'string' ? 'rejected' : 'outcome-unknown');
        expect(error.refused).toEqual([gone]);
      }
    });
  });

  it('rejects a message without recipients and sends no command', async () => {
    const server = await fixture.serve();
    const error = await failureOf(
      fixture.sender().send('k', at(server), smallMessage([]), controlOf().control),
    );
    expect([error.code, mailOf(server.commands)]).toEqual(['rejected', []]);
  });
});

describe('SmtpSender: addresses', () => {
  it('sends domains in ASCII and reports addresses as they were given', async () => {
    const server = await fixture.serve();
    const recipients = ['info@bücher.test', 'to@there.test'];
    const receipt = await fixture
      .sender()
      .send('k', at(server), smallMessage(recipients), controlOf().control);
    expect(receipt.accepted).toEqual(recipients);
    expect(server.messages[0]?.to).toEqual(['info@xn--bcher-kva.test', 'to@there.test']);
  });

  it('refuses recipients that are not ASCII by name if the server lacks SMTPUTF8', async () => {
    const server = await fixture.serve();
    const receipt = await fixture
      .sender()
      .send(
        'k',
        at(server),
        smallMessage(['jörg@there.test', 'to@there.test']),
        controlOf().control,
      );
    expect(receipt.accepted).toEqual(['to@there.test']);
    expect(receipt.refused).toEqual([
      {
        email: 'jörg@there.test',
        reason: 'the server does not accept internationalised addresses (SMTPUTF8)',
      },
    ]);
    expect(server.commands.join()).not.toContain('rg@');
  });

  it.each([
    ['the only recipient', { recipients: ['jörg@there.test'] }],
    ['the sender', { from: 'jörg@here.test' }],
  ])(
    'rejects a message if %s is not ASCII and the server lacks SMTPUTF8',
    async (_, { recipients, from }: { recipients?: string[]; from?: string }) => {
      const server = await fixture.serve();
      const sent = smallMessage(recipients, from ? { from } : {});
      const error = await failureOf(
        fixture.sender().send('k', at(server), sent, controlOf().control),
      );
      expect([error.code, mailOf(server.commands)]).toEqual(['rejected', []]);
      expect(error.message).toContain('SMTPUTF8');
    },
  );

  it('sends addresses that are not ASCII to servers with SMTPUTF8', async () => {
    const server = await fixture.serve({ extensions: ['PIPELINING', 'SMTPUTF8'] });
    const sent = smallMessage(['jörg@there.test'], { from: 'käthe@here.test' });
    const receipt = await fixture.sender().send('k', at(server), sent, controlOf().control);
    expect(receipt.accepted).toEqual(['jörg@there.test']);
    expect(server.messages).toMatchObject([{ from: 'käthe@here.test', to: ['jörg@there.test'] }]);
    expect(mailOf(server.commands)[0]).toContain(' SMTPUTF8');
  });

  it.each([
    'a@there.test>\r\nRCPT TO:<b@there.test',
    'a@there.test\nDATA',
    '<a@there.test>',
    '',
    'a\0@there.test',
  ])('never sends an address like %j to the server', async (email) => {
    const server = await fixture.serve();
    const error = await failureOf(
      fixture
        .sender()
        .send('k', at(server), smallMessage(['to@there.test', email]), controlOf().control),
    );
    expect([error.code, mailOf(server.commands)]).toEqual(['rejected', []]);
  });
});

describe('SmtpSender: replies out of order', () => {
  it('ignores a confirmation that comes before the end of the content', async () => {
    const server = await fixture.serve({
      answer: (step) =>
        step === 'block' ? { say: '250 done already\r\n', end: 'silence' } : undefined,
    });
    const sent = smallMessage(undefined, { body: `${'x'.repeat(70)}\r\n`.repeat(300_000) });
    const error = await failureOf(
      fixture.sender(SHORT).send('k', at(server), sent, controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['temporary', 'content']);
    expect(server.messages).toEqual([]);
  });

  it('accepts a refusal that comes before the end of the content', async () => {
    const server = await fixture.serve({
      answer: (step) =>
        step === 'block' ? { say: '552 too big after all\r\n', end: 'silence' } : undefined,
    });
    const sent = smallMessage(undefined, { body: `${'x'.repeat(70)}\r\n`.repeat(300_000) });
    const error = await failureOf(
      fixture.sender().send('k', at(server), sent, controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['rejected', 'content']);
    expect(server.messages).toEqual([]);
  });

  it('reports an unknown outcome if the reply to the content is neither success nor refusal', async () => {
    const server = await fixture.serve({
      answer: (step) => (step === 'message' ? '354 go on' : undefined),
    });
    const error = await failureOf(
      fixture.sender().send('k', at(server), smallMessage(), controlOf().control),
    );
    expect([error.code, error.phase]).toEqual(['outcome-unknown', 'confirmation']);
  });

  it('does not take a duplicated reply for the reply to the next message', async () => {
    const server = await fixture.serve({
      answer: (step) => (step === 'message' ? '250 2.0.0 Ok\r\n250 2.0.0 Ok again' : undefined),
    });
    const smtp = fixture.sender();
    for (let n = 0; n < 3; n++)
      await smtp.send('k', at(server), smallMessage(), controlOf().control);
    expect([server.messages.length, server.connections]).toEqual([3, 3]);
  });
});
