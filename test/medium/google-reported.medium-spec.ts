import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf, mimeOf, outgoing, Replica, sendControl } from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import type { Mailbox } from '../support/google/gmail/mailbox.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('mail at a Google that behaves as people report of it', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  beforeEach(() => fixture.stub.habits.worst());
  afterEach(() => expectDocumented(fixture.stub));
  afterAll(() => fixture.stop());

  const mailboxOf = (email: string): Mailbox => fixture.stub.world.users.get(email)!.mailbox;

  it.each([
    ['first removed and then added', true],
    ['first added and then removed', false],
  ])('labels that one record of the history shows as %s are right', async (_, isRemovedFirst) => {
    const account = fixture.account();
    const { email } = account;
    const [message] = fixture.stub.deliver('Subject: Hello\r\n\r\nHello\r\n', [email]);
    const replica = new Replica(fixture.connector.mail, account);
    await replica.until('the message', ({ messages }) => messages.size > 0);
    const mailbox = mailboxOf(email);
    const steps = [
      () => mailbox.relabel(message!, [], ['INBOX']),
      () => mailbox.relabel(message!, ['STARRED'], []),
    ];
    for (const step of isRemovedFirst ? steps : steps.toReversed()) step();
    await replica.follow();
    const inbox = replica.standard('inbox').providerId;
    const { folderIds, starred } = replica.messages.get(message!.id)!;
    expect([folderIds.includes(inbox), starred]).toEqual([false, true]);
  });

  it('a message shows what its recipient got, and its copy in Sent what was sent', async () => {
    const [from, to] = [fixture.account(), fixture.account()];
    const message = outgoing(from, [to.email]);
    const html = '<!doctype html><p>Good day<!-- a secret --></p>';
    const mime = message.mime
      .toString()
      .replace('text/plain', 'text/html')
      .replace(/Good day.*/, html);
    const sent = { ...message, mime: Buffer.from(mime) };
    await fixture.connector.mail.send(from, sent, sendControl());
    const texts = await Promise.all(
      [from, to].map(async (account) => {
        const replica = new Replica(fixture.connector.mail, account);
        await replica.until('the message', ({ messages }) => messages.size > 0);
        return [...replica.messages.values()].map((one) => String(mimeOf(one)));
      }),
    );

    expect(texts[0]![0]).toContain(html);
    expect(texts[1]![0]).toContain('\r\n<p>Good day</p>\r\n');
  });

  it('an account waits, with words for its administrator, while the application is blocked', async () => {
    const account = fixture.account();
    fixture.stub.deliver('Subject: Hello\r\n\r\nHello\r\n', [account.email]);
    const replica = new Replica(fixture.connector.mail, account);
    await replica.until('the message', ({ messages }) => messages.size > 0);
    fixture.stub.habits.blocked.add(account.email);
    const message = outgoing(account, ['bo@elsewhere.test']);
    for (const work of [
      () => replica.follow(),
      () => fixture.connector.mail.send(account, message, sendControl()),
      () => fixture.connector.calendar.listCalendars(account),
      () => fixture.connector.contacts.listContactChanges(account, null, 10),
    ])
      await expect(work()).rejects.toMatchObject({
        code: 'temporary',
        message: expect.stringContaining('Manage app access'),
      });
    expect(replica.messages.size).toBe(1);
    fixture.stub.habits.blocked.clear();
    expect(await codeOf(replica.follow())).toBe('succeeded');
  });
});
