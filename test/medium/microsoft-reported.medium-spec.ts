import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { outgoing, Replica, sendControl, withFiles } from '../support/contract-tools.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const MB = 2 ** 20;
const FIVE_MINUTES = 300_000;

describe('mail at a Microsoft that behaves as people report of it', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterEach(() => expectDocumented(fixture.stub));
  afterAll(() => fixture.stop());

  const mailboxOf = ({ email }: ProviderAccount) => fixture.stub.user(email).mailbox;
  const inFolder = (account: ProviderAccount, name: string) => {
    const mailbox = mailboxOf(account);
    return [...mailbox.messagesIn(mailbox.folderId(name)).values()];
  };

  it.each([
    ['keeps its id when new Outlook sends it', false],
    ['is gone and a new message is sent when classic Outlook sends it', true],
  ])('a draft %s', async (_, isClassic) => {
    const account = fixture.account();
    const { mailbox, mail } = fixture.connector;
    const message = outgoing(account, ['bo@elsewhere.test'], { subject: 'Plan' });
    const { providerId } = await mailbox.saveDraft(account, message, null);
    const replica = new Replica(mail, account);
    await replica.follow();
    expect(replica.messages.has(providerId)).toBe(true);
    await fixture.stub.sendInOutlook(account.email, 'Plan', isClassic);
    await replica.follow();
    const sent = replica.inFolder(replica.standard('sent').providerId);
    expect(sent).toHaveLength(1);
    expect(sent[0]!.providerId === providerId).toBe(!isClassic);
    expect(replica.inFolder(replica.standard('drafts').providerId)).toEqual([]);
    expect(replica.messages.has(providerId)).toBe(!isClassic);
  });

  it('a large message waits for the limit of uploads, leaves no draft, and is sent once', async () => {
    const account = fixture.account();
    const { stub, connector } = fixture;
    const started = stub.now();
    stub.now = () => started;
    stub.settings.uploadBytes = 9 * MB;
    stub.settings.sendsRetryAfter = true;
    const [first, second] = [5, 6].map((size) =>
      withFiles(account, 'bo@elsewhere.test', [size * MB]),
    );
    await connector.mail.send(account, first!, sendControl());
    await expect(connector.mail.send(account, second!, sendControl())).rejects.toMatchObject({
      code: 'rate-limited',
      retryAfterSeconds: FIVE_MINUTES / 1000,
    });
    expect(inFolder(account, 'drafts')).toEqual([]);
    stub.now = () => started + FIVE_MINUTES + 1;
    await connector.mail.send(account, second!, sendControl());
    expect(inFolder(account, 'sentitems')).toHaveLength(2);
  });
});
