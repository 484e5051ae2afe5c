import request from 'supertest';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { pdfOf, SCAN_TEXT } from '../support/neural/pdf.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
const LAYER = 'A page that has a text layer of its own';
const CALLS = ['sentiment', 'signature', 'categorize', 'conversation'];

describe('/neural', () => {
  let server: TestApp;
  let ada: TestAccount;
  let bo: TestAccount;
  let off: TestAccount;
  let messages: { id: string; subject: string }[];
  let files: { id: string; filename: string }[];

  const call = (method: 'get' | 'put' | 'post', path: string, body: object = {}, by = ada) =>
    request(server.url)[method](path).set(by.bearer).send(body);
  const idOf = (subject: string) => messages.find((each) => each.subject === subject)?.id ?? '';
  const fileOf = (filename: string) => files.find((each) => each.filename === filename)?.id ?? '';

  beforeAll(async () => {
    server = await startTestApp({ NEURAL: 'true' });
    const application = await createApplication(server.app, { features: ['neural'] });
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application);
    off = await createAccount(server.app, await createApplication(server.app));
    const file = (name: string, bytes: Buffer) =>
      `--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="${name}"\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n`;
    await deliver(server, ada, [
      'Subject: The week',
      'List-Unsubscribe: <https://x.example/u>',
      'Precedence: bulk',
      'Content-Type: text/html',
      '',
      '<p>Top stories of the week. Unsubscribe</p>',
    ]);
    await deliver(server, ada, [
      'Subject: Files',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b\r\nContent-Type: text/plain\r\n\r\nIt is great!\r\n\r\nOn Monday, Jan 1, 2024, Ada <a@x.test> wrote:\r\n> Is it great?\r\n' +
        file('scan.pdf', pdfOf([LAYER])) +
        file('many.pdf', pdfOf(Array.from({ length: 6 }, () => LAYER))) +
        file('notes.txt', Buffer.from('no image')) +
        `${file('huge.bmp', Buffer.concat([Buffer.from('BM'), Buffer.alloc(16), Buffer.from('ffff0000ffff0000', 'hex'), Buffer.alloc(40)]))}--b--\r\n`,
    ]);
    [messages, files] = await until('the messages', async () => {
      const { body } = await call('get', '/messages');
      return body.length === 2 && [body, (await call('get', '/files')).body];
    });
  });
  afterAll(() => server.close());

  it('refuses accounts without the feature, and messages and files of other accounts', async () => {
    for (const path of CALLS) {
      const body = { message_id: [idOf('Files')] };
      const refused = await call('put', `/neural/${path}`, body, off);
      expect(refused.status).toBe(403);
      expect(refused.body.message).toMatch('not enabled for this application');
      expect((await call('put', `/neural/${path}`, body, bo)).status).toBe(404);
      expect(
        (await call('put', `/neural/${path}`, { message_id: [idOf('Files'), UNKNOWN] })).status,
      ).toBe(404);
    }
    expect((await call('put', '/neural/ocr', { file_id: fileOf('scan.pdf') }, off)).status).toBe(
      403,
    );
    expect((await call('put', '/neural/ocr', { file_id: fileOf('scan.pdf') }, bo)).status).toBe(
      404,
    );
    const feedback = { message_id: idOf('Files'), category: 'feed', sentiment: 'neutral' };
    for (const path of CALLS) {
      expect((await call('post', `/neural/${path}/feedback`, feedback, off)).status).toBe(403);
      expect((await call('post', `/neural/${path}/feedback`, feedback, bo)).status).toBe(404);
    }
    expect(
      (await call('post', '/neural/ocr/feedback', { file_id: fileOf('scan.pdf') }, bo)).status,
    ).toBe(404);
  });

  it.each([
    ['sentiment', {}, 'text'],
    ['sentiment', { text: 'a', message_id: [UNKNOWN] }, 'text'],
    ['sentiment', { text: 'a'.repeat(1001) }, 'text'],
    ['categorize', { message_id: [] }, 'message_id'],
    ['categorize', { message_id: Array(6).fill(UNKNOWN) }, 'message_id'],
    ['signature', { message_id: [UNKNOWN], ignore_links: 'yes' }, 'ignore_links'],
    ['ocr', { file_id: UNKNOWN, pages: [1, 2, 3, 4, 5, 6] }, 'pages'],
    ['ocr', { file_id: UNKNOWN, pages: [0] }, 'pages'],
    ['ocr', { file_id: UNKNOWN, pages: ['1,2,3,4,5,6'] }, 'pages'],
    ['categorize', {}, 'message_id'],
    ['sentiment', { message_id: 5 }, 'message_id'],
  ])('%s refuses bad input by name', async (path, body, field) => {
    const answer = await call('put', `/neural/${path}`, body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(field);
  });

  it('returns messages in the requested order, each with its analysis', async () => {
    const ids = [idOf('The week'), idOf('Files'), idOf('The week')];
    const { body } = await call('put', '/neural/conversation', { message_id: ids });
    expect(body.map((each: { conversation: string }) => each.conversation)).toEqual([
      'Top stories of the week. Unsubscribe',
      'It is great!',
    ]);
    const { conversation, model_version, ...message } = body[1];
    expect([conversation, model_version]).toEqual([
      'It is great!',
      expect.stringContaining('planer'),
    ]);
    expect(message).toEqual((await call('get', `/messages/${idOf('Files')}`)).body);
  });

  it('reads PDF files with text pages and with image pages', async () => {
    const { body } = await call('put', '/neural/ocr', { file_id: fileOf('scan.pdf') });
    expect(body).toMatchObject({
      filename: 'scan.pdf',
      processed_pages: 2,
      ocr: [SCAN_TEXT, LAYER],
    });
    const some = await call('put', '/neural/ocr', { file_id: fileOf('many.pdf'), pages: [7, 2] });
    expect(some.body).toMatchObject({ processed_pages: 2, ocr: [LAYER, LAYER] });
    const first = await call('put', '/neural/ocr', { file_id: fileOf('many.pdf') });
    expect(first.body.processed_pages).toBe(5);
    expect(
      (await call('put', '/neural/ocr', { file_id: fileOf('scan.pdf'), pages: [3] })).status,
    ).toBe(400);
  });

  it('takes the requests of all official clients', async () => {
    const id = idOf('Files');
    const file_id = fileOf('scan.pdf');
    for (const pages of [[], null, ['1,2,3,4,5'], ['1,2'], ['1', 2]]) {
      const { status, body } = await call('put', '/neural/ocr', { file_id, pages });
      expect([pages, status, body.processed_pages]).toEqual([pages, 200, 2]);
    }
    for (const path of CALLS) {
      const { status, body } = await call('put', `/neural/${path}`, { message_id: id });
      expect([path, status, body.length]).toEqual([path, 200, 1]);
    }
    const only = { messageId: [id], only_category: true };
    expect((await call('put', '/neural/categorize', only)).body).toMatchObject([{ id }]);
    const without = { message_id: [id], parse_contact: false };
    const [signed] = (await call('put', '/neural/signature', without)).body;
    expect(signed).not.toHaveProperty('contacts');
    const options = { message_id: [id], ignore_images: false, images_as_markdowns: false };
    expect((await call('put', '/neural/conversation', options)).status).toBe(200);
    const feedback = { text: 'fine', sentiment: 'neutral' };
    expect((await call('put', '/neural/sentiment/feedback', feedback)).status).toBe(200);
  });

  it('leaves out names and job titles that it has not found, and lists the rest', async () => {
    const [{ contacts }] = (
      await call('put', '/neural/signature', { message_id: [idOf('The week')] })
    ).body;
    expect(contacts).toEqual({ emails: [], links: [], phone_numbers: [] });
  });

  it('categorises with the display names of labels', async () => {
    const application = await createApplication(server.app, { features: ['neural'] });
    const lea = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    await deliver(server, lea, ['Subject: Labelled', '', 'x']);
    const message = await until(
      'the message',
      async () => (await call('get', '/messages', {}, lea)).body[0],
    );
    const { body } = await call('put', '/neural/categorize', { message_id: message.id }, lea);
    expect(body[0].labels).toEqual(
      message.labels.map(({ display_name }: { display_name: string }) => display_name),
    );
  });

  it.each(['Re: plan', 'Ответ: план', '[EXT] 답장: 계획', 'Antwort: Plan'])(
    'knows a reply by its subject: %s',
    async (subject) => {
      await deliver(server, ada, [`Subject: ${subject}`, '', 'x']);
      const message = await until('the message', async () =>
        (await call('get', '/messages')).body.find(
          (one: { subject: string }) => one.subject === subject,
        ),
      );
      const { body } = await call('put', '/neural/categorize', { message_id: [message.id] });
      expect(body[0].categorizer.subcategories).toEqual(['reply']);
    },
  );

  it('refuses files that are not images, and images that are too large', async () => {
    const refused = await call('put', '/neural/ocr', { file_id: fileOf('notes.txt') });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining('file_id'),
    ]);
    const large = await call('put', '/neural/ocr', { file_id: fileOf('huge.bmp') });
    expect([large.status, large.body.message]).toEqual([
      400,
      expect.stringContaining('65535 × 65535 pixels'),
    ]);
  });

  it('stores feedback, and applies feedback about categories', async () => {
    const [id, other] = [idOf('The week'), idOf('Files')];
    const categorize = async () =>
      (await call('put', '/neural/categorize', { message_id: [id] })).body[0].categorizer;
    const before = await categorize();
    expect(before).toMatchObject({ category: 'feed', subcategories: ['newsletter'] });
    const { body } = await call('post', '/neural/categorize/feedback', {
      message_id: id,
      category: 'conversation',
    });
    expect(body).toEqual({
      account_id: ada.id,
      message_id: id,
      category: 'conversation',
      is_primary_label: 'true',
      recategorized_at: expect.any(Number),
      subcategories: [],
      recategorized_from: { ...before, categorized_at: expect.any(Number) },
    });
    expect(await categorize()).toMatchObject({
      category: 'conversation',
      categorized_at: body.recategorized_at,
      model_version: 'user-feedback',
    });
    await call('post', '/neural/categorize/feedback', { message_id: id, category: 'feed' });
    expect(await categorize()).toMatchObject({ category: 'feed', subcategories: ['newsletter'] });

    const sentiment = { message_id: other, sentiment: 'negative' };
    expect((await call('post', '/neural/sentiment/feedback', sentiment)).body).toEqual({
      account_id: ada.id,
      message_id: other,
      sentiment: 'NEGATIVE',
    });
    expect((await call('post', '/neural/sentiment/feedback', sentiment)).status).toBe(409);
    expect(
      (await call('post', '/neural/sentiment/feedback', { ...sentiment, overwrite: true })).status,
    ).toBe(200);
    expect(
      (await call('post', '/neural/sentiment/feedback', { text: 'x', sentiment: 'NEUTRAL' }))
        .status,
    ).toBe(200);
    for (const kind of ['signature', 'conversation'])
      expect((await call('post', `/neural/${kind}/feedback`, { message_id: other })).body.id).toBe(
        other,
      );
    const file = fileOf('scan.pdf');
    expect((await call('post', '/neural/ocr/feedback', { file_id: file, text: 'y' })).body.id).toBe(
      file,
    );
  });
});
