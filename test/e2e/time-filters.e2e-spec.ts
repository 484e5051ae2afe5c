import request from 'supertest';
import { ApiDocument } from '../support/api-document.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const NOON = Date.UTC(2027, 2, 10, 12) / 1000;
/** Ways in which clients write the same time into a query. */
const FORMS = [
  String(NOON),
  '2027-03-10T12:00:00.000Z',
  '2027-03-10T12:00:00',
  '2027-03-10 12:00:00',
  '2027-03-10 13:00:00+01:00',
  '2027-03-10 13:00:00 01:00',
  'Wed Mar 10 2027 13:00:00 GMT+0100 (Central European Standard Time)',
];
const IS_TIME = /_(before|after|timestamp)$|^(since|until)$/;

describe('times in filters', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application);
    const { body } = await request(server.url)
      .post('/calendars')
      .set(ada.bearer)
      .send({ name: 'Team' });
    const { id: calendar_id } = body as { id: string };
    for (const hour of [-1, 0, 1]) {
      const start_time = NOON + hour * 3_600;
      await request(server.url)
        .post('/events')
        .set(ada.bearer)
        .send({ calendar_id, title: `${hour}`, when: { start_time, end_time: start_time + 60 } })
        .expect(200);
    }
  });
  afterAll(() => server.close());

  it.each(FORMS)('select the same events when a client writes %j', async (time) => {
    const titles = async (filter: string) => {
      const { body } = await request(server.url)
        .get('/events')
        .query({ [filter]: time })
        .set(ada.bearer)
        .expect(200);
      return (body as { title: string }[]).map(({ title }) => title);
    };
    expect(await titles('starts_after')).toEqual(['1']);
    expect(await titles('starts_before')).toEqual(['-1']);
  });

  it('may be texts in every list that filters by time, and a text that is no time is refused by name', async () => {
    const document = await ApiDocument.of(server.url);
    const filters = document.operations
      .filter(({ method, pathParameters }) => method === 'GET' && pathParameters.length === 0)
      .flatMap(({ path, queryParameters }) =>
        queryParameters.filter((name) => IS_TIME.test(name)).map((name) => [path, name] as const),
      );
    expect(filters.length).toBeGreaterThan(25);
    for (const [path, name] of filters) {
      const ask = (value: string) =>
        request(server.url)
          .get(path)
          .query({ [name]: value })
          .set(ada.bearer);
      for (const form of FORMS)
        expect([path, name, form, (await ask(form)).status]).toEqual([path, name, form, 200]);
      for (const wrong of ['yesterday', '2027-02-30', '']) {
        const { status, body } = await ask(wrong);
        expect([path, status, (body as { message: string }).message]).toEqual([
          path,
          400,
          `${name}: must be a time in Unix seconds, or in ISO 8601 such as 2027-03-10T12:00:00Z`,
        ]);
      }
    }
  });

  it('may be texts in questions for free times', async () => {
    const answers = await Promise.all(
      [
        [NOON - 3_600, NOON + 3_660],
        ['2027-03-10T11:00:00Z', '2027-03-10 13:01:00'],
      ].map(
        async ([start_time, end_time]) =>
          (
            await request(server.url)
              .post('/calendars/free-busy')
              .set(ada.bearer)
              .send({ start_time, end_time, emails: [ada.email] })
              .expect(200)
          ).body as unknown,
      ),
    );
    expect(answers[0]).toEqual(answers[1]);
  });
});
