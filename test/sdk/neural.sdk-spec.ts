import Nylas from 'nylas';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { SCAN_PNG, SCAN_TEXT } from '../support/neural/pdf.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const HTML = [
  '<p>Hi Ada,</p><p>I love the <a href="https://plan.example/a">new plan</a>, it is great!</p>',
  '<p><img src="cid:scan@x" alt="the invoice"></p>',
  '<p>Best regards,</p><p>Bo Smith<br>Head of Sales<br>+1 415 555 2671<br>',
  '<a href="https://acme.example">Acme</a><br>bo@acme.example</p>',
  '<div class="gmail_quote">On Monday Ada wrote:<blockquote>What do you think?</blockquote></div>',
].join('');

/** Runs the `neural` calls of the official client. */
describe('nylas@6.11.1, neural', () => {
  let server: TestApp;
  let ada: TestAccount;
  let client: ReturnType<typeof Nylas.with>;
  let id: string;
  let fileId: string;

  beforeAll(async () => {
    server = await startTestApp({ NEURAL: 'true' });
    const application = await createApplication(server.app, { features: ['neural'] });
    ada = await createAccount(server.app, application, { mirrored: true });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    client = Nylas.with(ada.token);
    await deliver(server, ada, [
      'Subject: Re: The plan',
      'In-Reply-To: <plan@elsewhere.test>',
      'Content-Type: multipart/related; boundary=b',
      '',
      `--b\r\nContent-Type: text/html\r\n\r\n${HTML}\r\n`,
      '--b\r\nContent-Type: image/png\r\nContent-ID: <scan@x>\r\nContent-Disposition: inline; filename="scan.png"',
      `Content-Transfer-Encoding: base64\r\n\r\n${SCAN_PNG.toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n--b--`,
    ]);
    const message = await until(
      'the message',
      async () => (await client.messages.list({ in: 'inbox' }))[0],
    );
    id = message.id ?? '';
    fileId = message.files?.[0]?.id ?? '';
  });
  afterAll(() => server.close());

  it('analyses the sentiment of texts and messages', async () => {
    const text = await client.neural.sentimentAnalysisText(
      'This is terrible, I am very disappointed.',
    );
    expect(text).toMatchObject({ accountId: ada.id, sentiment: 'NEGATIVE', processedLength: 41 });
    expect(text.sentimentScore).toBeLessThan(-0.5);
    const [message] = await client.neural.sentimentAnalysisMessage([id]);
    expect(message).toMatchObject({ accountId: ada.id, sentiment: 'POSITIVE' });
    expect(message?.text).toBe('Hi Ada,\n\nI love the new plan, it is great!');
  });

  it('extracts signatures, and contacts from the signatures', async () => {
    const [found] = await client.neural.extractSignature([id]);
    expect(found?.id).toBe(id);
    expect(found?.signature).toBe(
      'Bo Smith\nHead of Sales\n+1 415 555 2671\nAcme\nbo@acme.example',
    );
    expect(found?.modelVersion).toMatch(/^carillon-rules-/);
    expect(found?.contacts?.toJSON()).toEqual({
      job_titles: ['Head of Sales'],
      links: [expect.objectContaining({ description: 'Acme', url: 'https://acme.example' })],
      phone_numbers: ['+14155552671'],
      emails: ['bo@acme.example'],
      names: [expect.objectContaining({ first_name: 'Bo', last_name: 'Smith' })],
    });
    expect(found?.contacts?.toContactObject(client).givenName).toBe('Bo');
    const options = { parseContacts: false, removeConclusionPhrases: false, ignoreLinks: false };
    const [other] = await client.neural.extractSignature([id], options);
    expect(other?.contacts).toBeUndefined();
    expect(other?.signature).toContain('Best regards,');
    expect(other?.signature).toContain('[Acme](https://acme.example)');
  });

  it('cleans conversations, and finds the images in a cleaned conversation', async () => {
    const [plain] = await client.neural.cleanConversation([id]);
    expect(plain?.conversation).toBe('Hi Ada,\n\nI love the new plan, it is great!');
    for (const imagesAsMarkdown of [true, false]) {
      const options = { ignoreLinks: false, ignoreImages: false, imagesAsMarkdown };
      const [found] = await client.neural.cleanConversation([id], options);
      expect(found?.conversation).toContain('[new plan](https://plan.example/a)');
      expect(found?.conversation).toContain(
        imagesAsMarkdown
          ? `![the invoice](cid:${fileId})`
          : `<img alt="the invoice" src='cid:${fileId}'>`,
      );
      const files = await found?.extractImages();
      await until('the image', async () => files?.length === 1);
      expect(files?.[0]?.id).toBe(fileId);
    }
  });

  it('reads the text of images', async () => {
    const found = await client.neural.ocrRequest(fileId, [1]);
    expect(found).toMatchObject({
      id: fileId,
      filename: 'scan.png',
      processedPages: 1,
      ocr: [SCAN_TEXT],
    });
  });

  it('categorizes messages, and accepts corrections', async () => {
    const [found] = await client.neural.categorize([id]);
    expect(found?.categorizer).toMatchObject({
      category: 'conversation',
      subcategories: ['reply'],
    });
    const corrected = await found?.reCategorize('feed');
    expect(corrected?.categorizer).toMatchObject({
      category: 'feed',
      modelVersion: 'user-feedback',
    });
    expect(corrected?.categorizer.categorizedAt).toBeInstanceOf(Date);
  });
});
