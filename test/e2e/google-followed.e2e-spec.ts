import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { GoogleStub } from '../support/google/google-stub.ts';
import type { GoogleUser } from '../support/google/google-user.ts';
import { scope } from '../support/google/scopes.ts';
import { mime } from '../support/google/stub-client.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const MAIL = ['openid', 'email', 'profile', scope('gmail.modify')];
const HIDDEN = ['UNREAD', 'STARRED', 'IMPORTANT', 'CHAT', 'CATEGORY_PERSONAL'];

interface SeenMessage {
  id: string;
  subject: string;
  unread: boolean;
  starred: boolean;
  labels: { name: string | null; display_name: string }[];
}

/** The whole server with accounts at the stub of Google that sign in by themselves. */
describe('a Google account that is followed', () => {
  let stub: GoogleStub;
  let server: TestApp;
  let application: TestApplication;
  let people = 0;

  beforeAll(async () => {
    stub = await GoogleStub.start();
    server = await startTestApp({ GOOGLE_URL: stub.origin, SYNC_POLL_SECONDS: '1' });
    application = await createApplication(server.app);
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({
        name: 'Google',
        provider: 'google',
        settings: { client_id: 'of-the-application', client_secret: 'other' },
        redirect_uris: ['https://app.example.test/callback'],
      })
      .expect(200);
  });
  afterAll(async () => {
    await server.close();
    await stub.stop();
    expectDocumented(stub);
  });

  const person = (): GoogleUser => {
    people += 1;
    return stub.addUser(`followed${people}@gmail.test`, `Followed ${people}`);
  };
  const grant = (settings: object, rest: object = {}) =>
    request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'google', settings, ...rest });
  /** Settings of an account with an OAuth client of its own. */
  const ownClient = (email: string) => ({
    google_client_id: stub.oauth.client.id,
    google_client_secret: stub.oauth.client.secret,
    google_refresh_token: stub.oauth.refreshTokenFor(email, MAIL),
  });
  const follow = async (user = person(), settings: object = ownClient(user.email)) => {
    const { body } = await grant(settings, { scope: ['email'] });
    expect([body.success, body.error]).toEqual([true, undefined]);
    const { id, access_token: token, email } = body.data as Record<string, string>;
    expect(email).toBe(user.email);
    const bearer = { authorization: `Bearer ${token}` };
    const get = (path: string) => request(server.url).get(path).set(bearer);
    const messages = async () =>
      (await get('/messages?limit=50').expect(200)).body as SeenMessage[];
    const shows = (...subjects: string[]) =>
      until(subjects.join(', '), async () => {
        const all = await messages();
        return (
          JSON.stringify(all.map(({ subject }) => subject).toSorted()) ===
            JSON.stringify(subjects.toSorted()) && all
        );
      });
    const [account] = [id ?? ''];
    return { account, user, get, shows };
  };
  function put(user: GoogleUser, subject: string, labels: string[] = []) {
    const [copy] = stub.deliver(mime({ From: 'bo@x.test', To: user.email, Subject: subject }), [
      user.email,
    ]);
    if (!copy) throw new Error('the message was not delivered');
    user.mailbox.relabel(copy, labels, []);
    return copy;
  }

  it('shows labels with their levels, and none of the marks that Gmail sets for itself', async () => {
    const user = person();
    const label = user.mailbox.labels.create({ name: 'Work/Plans' });
    put(user, 'Marked', [label.id, 'STARRED', 'IMPORTANT', 'CATEGORY_PERSONAL']);
    const chat = () =>
      user.mailbox.add({ raw: Buffer.from(mime({ Subject: 'Chat' })), labels: ['CHAT'] });
    chat();
    const { get, shows } = await follow(user);
    const [message] = await shows('Marked');
    expect(message).toMatchObject({ unread: true, starred: true });
    const names = message?.labels.map(({ display_name }) => display_name).toSorted();
    expect(names).toEqual(['All Mail', 'Inbox', 'Work/Plans']);
    const { body: labels } = await get('/labels').expect(200);
    const listed = (labels as SeenMessage['labels']).map(({ display_name }) => display_name);
    expect(listed).toEqual(expect.arrayContaining(['Inbox', 'Sent', 'Work/Plans']));
    expect(listed.filter((name) => HIDDEN.includes(name.toUpperCase()))).toEqual([]);
    user.mailbox.relabel(chat(), ['STARRED'], []);
    put(user, 'Later');
    await shows('Marked', 'Later');
  });

  it('is listed again when Gmail has forgotten what changed, without what was deleted', async () => {
    const user = person();
    const [kept, gone] = [put(user, 'Kept'), put(user, 'Gone')];
    const { shows } = await follow(user);
    const before = await shows('Kept', 'Gone');
    user.mailbox.remove(gone);
    user.mailbox.relabel(kept, ['STARRED'], ['UNREAD']);
    put(user, 'News');
    user.mailbox.history.expire();
    const after = await shows('Kept', 'News');
    const one = after.find(({ subject }) => subject === 'Kept');
    expect(one?.id).toBe(before.find(({ subject }) => subject === 'Kept')?.id);
    await until('the flags', async () =>
      (await shows('Kept', 'News')).some(({ starred, unread }) => starred && !unread),
    );
  });

  it('shows a message whose text Gmail does not return, and its text as soon as Gmail does', async () => {
    const { account, user, get, shows } = await follow();
    const bad = put(user, 'Poison');
    put(user, 'Later');
    const match = ({ path, query }: StubRequest) =>
      path.endsWith(`/messages/${bad.id}`) && query.get('format') !== 'minimal';
    const error = {
      code: 500,
      message: 'Backend Error',
      errors: [{ message: 'Backend Error', domain: 'global', reason: 'backendError' }],
    };
    stub.faults.add({ match, times: Infinity, answer: { status: 500, body: { error } } });
    const all = await shows('', 'Later');
    const path = `/messages/${all.find(({ subject }) => subject === '')?.id}`;
    const refused = await get(path);
    expect([refused.status, refused.body.message]).toEqual([
      503,
      expect.stringContaining('Backend Error'),
    ]);
    const failures = await server.app
      .get(Database)
      .query<{ reason: string }>(
        'select provider_id, reason from sync_failure where account_id = $1',
        [account],
      );
    expect(failures).toMatchObject([{ provider_id: bad.id, reason: 'Google: 500 Backend Error' }]);
    stub.faults.clear();
    expect((await get(path).expect(200)).body).toMatchObject({ subject: 'Poison', unread: true });
  });

  it('is opened by a service account with domain-wide delegation, also when its token has expired', async () => {
    const user = person();
    put(user, 'Delegated');
    const key = stub.oauth.addServiceAccount(MAIL);
    const settings = { service_account_json: key, email: user.email };
    const { shows } = await follow(user, settings);
    await shows('Delegated');
    const tokens = stub.requestsOf('POST /token').length;
    stub.oauth.grants.expire(user.email);
    put(user, 'Renewed');
    await shows('Delegated', 'Renewed');
    expect(stub.requestsOf('POST /token').length).toBeGreaterThan(tokens);
    const refused = await grant({ service_account_json: key, email: 'nobody@gmail.test' });
    expect([refused.body.success, refused.status]).not.toEqual([true, 200]);
  });

  it('belongs to its Google user: another one who has the same address now is refused', async () => {
    const { user, shows } = await follow();
    put(user, 'Private');
    await shows('Private');
    stub.oauth.grants.revokeAll(user.email);
    const successor = stub.addUser(user.email, 'Somebody else');
    expect(successor.sub).not.toBe(user.sub);
    const { status, body } = await grant(ownClient(successor.email));
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('belongs to another user of google');
  });
});
