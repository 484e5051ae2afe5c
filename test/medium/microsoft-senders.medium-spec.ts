import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { markDigest, withMark } from '../../src/formats/mime/message-mark.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { outgoing, sendControl, withFiles } from '../support/contract-tools.ts';
import { UNPLEASANT_AT_ONCE } from '../support/microsoft/settings.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('sending at the stub of Microsoft, from other addresses and with what Exchange changes', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterEach(() => {
    Object.assign(fixture.stub.settings, {
      ...UNPLEASANT_AT_ONCE,
      dropsHeaders: false,
    });
    expectDocumented(fixture.stub);
  });
  afterAll(() => fixture.stop());

  const sendFrom = async (account: ProviderAccount, from: string) => {
    const message = withFiles(account, 'bo@elsewhere.test', []);
    const mime = Buffer.from(message.mime.toString().replace(account.email, from));
    const envelope = { ...message.envelope, from };
    return fixture.connector.mail.send(account, { ...message, mime, envelope }, sendControl());
  };
  const withAlias = () => {
    const account = fixture.account();
    const alias = `alias-of-${account.email}`;
    fixture.stub.user(account.email).aliases.add(alias);
    return { account, alias };
  };
  const numberSent = ({ email }: ProviderAccount) =>
    fixture.stub.world.sent.filter(({ sender }) => sender === email).length;

  it('says that Exchange has replaced an alias in From, and refuses the alias from then on', async () => {
    const { account, alias } = withAlias();
    const { response } = await sendFrom(account, alias);
    expect(response).toContain(`it was sent from ${account.email} instead of ${alias}`);
    expect(response).toContain('SendFromAliasEnabled');
    await expect(sendFrom(account, alias)).rejects.toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('SendFromAliasEnabled'),
    });
    expect(numberSent(account)).toBe(1);
    await fixture.connector.mail.send(
      account,
      outgoing(account, ['bo@elsewhere.test']),
      sendControl(),
    );
    expect(numberSent(account)).toBe(2);
  });

  it('sends from an alias without a word if the organization allows it', async () => {
    const { account, alias } = withAlias();
    fixture.stub.settings.sendsFromAliases = true;
    for (let n = 0; n < 2; n += 1)
      expect((await sendFrom(account, alias)).response).toBe('Microsoft accepted the message');
  });

  it('names the scope to ask for if the sign-in lacks Mail.Send.Shared', async () => {
    const account = fixture.account(['User.Read', 'Mail.ReadWrite', 'Mail.Send']);
    const one = { ...account, providerScopes: ['Mail.ReadWrite', 'Mail.Send'] };
    await expect(sendFrom(one, 'somebody@elsewhere.test')).rejects.toMatchObject({
      code: 'rejected',
      message: expect.stringMatching(/Mail\.Send\.Shared.*email\.send_as.*Send as/s),
    });
    expect(numberSent(account)).toBe(0);
  });

  it('finds a sent message by its mark if Exchange has replaced the Message-ID', async () => {
    const account = fixture.account();
    fixture.stub.settings.replacesMessageIds = true;
    for (const files of [[], [3_500_000]]) {
      const message = withFiles(account, 'bo@elsewhere.test', files);
      await fixture.connector.mail.send(account, message, sendControl());
      expect(await fixture.connector.mail.findSent(account, message.messageIdHeader)).toEqual({
        found: true,
        conclusive: true,
      });
    }
  });

  it('finds a sent message by the mark of an earlier build, which had no id', async () => {
    const account = fixture.account();
    const messageIdHeader = `<${newId()}.0123456789@contract.test>`;
    const { mime } = outgoing(account, ['bo@elsewhere.test'], { messageIdHeader });
    const sent = mime.toString().replace(messageIdHeader, '<other@exchange.test>');
    const marked = withMark(Buffer.from(sent), markDigest(messageIdHeader));
    await fixture.stub.put(account.email, marked, { folder: 'sentitems' });
    expect(await fixture.connector.mail.findSent(account, messageIdHeader)).toEqual({
      found: true,
      conclusive: true,
    });
  });

  it('takes no absence as proof, because Exchange may keep neither the Message-ID nor the mark', async () => {
    const account = fixture.account();
    Object.assign(fixture.stub.settings, { replacesMessageIds: true, dropsHeaders: true });
    const message = outgoing(account, ['bo@elsewhere.test']);
    await fixture.connector.mail.send(account, message, sendControl());
    expect(await fixture.connector.mail.findSent(account, message.messageIdHeader)).toEqual({
      found: false,
      conclusive: false,
    });
  });

  it('keeps the content ids of images in a large message', async () => {
    const account = fixture.account();
    const image = Buffer.alloc(3_600_000, 'x').toString('base64');
    const mime = [
      'From: bo@elsewhere.test',
      `To: ${account.email}`,
      'Subject: Picture',
      'MIME-Version: 1.0',
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<img src="cid:logo@x">',
      '--b',
      'Content-Type: image/png; name=logo.png',
      'Content-ID: <logo@x>',
      'Content-Disposition: inline; filename=logo.png',
      'Content-Transfer-Encoding: base64',
      '',
      image.replaceAll(/.{76}/g, '$&\r\n'),
      '--b--',
      '',
    ].join('\r\n');
    const { immutableId } = await fixture.stub.put(account.email, mime);
    const request = { providerIds: [immutableId], content: true, priority: 'interactive' } as const;
    const read = await fixture.connector.mail.readMessages(account, request);
    const content = read.get(immutableId)?.content;
    const parts = content?.kind === 'parts' ? (content.parts.root?.children ?? []) : [];
    expect(parts.map(({ header }) => String(header)).join()).toMatch(/Content-ID: <?logo@x>?/);
  });
});
