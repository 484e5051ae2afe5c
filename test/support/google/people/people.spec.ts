import { expectDocumented } from '../../remote-stub/remote-stub.ts';
import { GoogleStub } from '../google-stub.ts';
import { scope } from '../scopes.ts';
import { mime, StubClient } from '../stub-client.ts';

const ANNA = 'anna@gmail.test';

describe('the stub of Google People', () => {
  let stub: GoogleStub;
  let anna: StubClient;

  beforeEach(async () => {
    stub = await GoogleStub.start();
    stub.addUser(ANNA, 'Anna');
    anna = new StubClient(stub, ANNA);
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  const create = (givenName: string) =>
    anna.call('POST', '/v1/people:createContact', { names: [{ givenName }] });
  const list = (query = '') =>
    anna.call('GET', `/v1/people/me/connections?personFields=names,metadata${query}`);

  it('lists pages and changes, and reports an expired sync token', async () => {
    const { body: first } = await create('A');
    await create('B');
    const page = await list('&pageSize=1&requestSyncToken=true');
    const rest = await list(
      `&pageSize=1&requestSyncToken=true&pageToken=${page.body.nextPageToken}`,
    );
    expect([page.body.nextSyncToken, rest.body.connections[0].names[0].displayName]).toEqual([
      undefined,
      'B',
    ]);
    await anna.call('DELETE', `/v1/${first.resourceName}:deleteContact`);
    const token = `&syncToken=${rest.body.nextSyncToken}&requestSyncToken=true`;
    expect((await list(token)).body.connections).toMatchObject([
      { resourceName: first.resourceName, metadata: { deleted: true } },
    ]);
    stub.world.users.get(ANNA)?.contacts.expireSyncTokens();
    const { status, body } = await list(token);
    expect([status, body.error.status, body.error.details[0].reason]).toEqual([
      400,
      'FAILED_PRECONDITION',
      'EXPIRED_SYNC_TOKEN',
    ]);
  });

  it('changes only the masked fields, of the version that the client read', async () => {
    const { body } = await create('A');
    const change = { etag: body.etag, names: [{ givenName: 'B' }], urls: [{ value: 'x' }] };
    const path = `/v1/${body.resourceName}:updateContact?updatePersonFields=names`;
    const changed = await anna.call('PATCH', path, change);
    expect(changed.body.names[0].displayName).toBe('B');
    expect(changed.body.urls).toBeUndefined();
    expect((await anna.call('PATCH', path, change)).status).toBe(400);
    expect((await anna.call('GET', `/v1/${body.resourceName}`)).status).toBe(400);
  });

  it('keeps groups with their members', async () => {
    const { body } = await create('A');
    const { body: group } = await anna.call('POST', '/v1/contactGroups', {
      contactGroup: { name: 'Team' },
    });
    const members = { resourceNamesToAdd: [body.resourceName, 'people/c99'] };
    const modified = await anna.call('POST', `/v1/${group.resourceName}/members:modify`, members);
    expect(modified.body.notFoundResourceNames).toEqual(['people/c99']);
    const read = await anna.call('GET', `/v1/${group.resourceName}?maxMembers=10`);
    expect(read.body.memberResourceNames).toEqual([body.resourceName]);
  });

  it('serves photos', async () => {
    const { body } = await create('A');
    const photoBytes = Buffer.from('picture').toString('base64');
    const { body: answer } = await anna.call(
      'PATCH',
      `/v1/${body.resourceName}:updateContactPhoto`,
      {
        photoBytes,
        personFields: 'photos',
      },
    );
    const photo = await fetch(answer.person.photos[0].url);
    expect(await photo.text()).toBe('picture');
  });
});

describe('the stub of Pub/Sub', () => {
  it('gives messages again until they are acknowledged', async () => {
    let now = Date.now();
    const stub = await GoogleStub.start({ now: () => now });
    stub.addUser(ANNA);
    const anna = new StubClient(stub, ANNA);
    const robot = new StubClient(stub, ANNA, []);
    robot.token = stub.oauth.accessTokenFor(ANNA, [scope('pubsub')]);
    const topicName = 'projects/p/topics/t';
    const path = '/v1/projects/p/subscriptions/s';
    await robot.call('PUT', path, { topic: topicName });
    await anna.mail('POST', 'watch', { topicName });
    stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const pull = async () => (await robot.call('POST', `${path}:pull`, { maxMessages: 10 })).body;
    const { receivedMessages } = await pull();
    expect([receivedMessages.length, await pull()]).toEqual([2, {}]);
    now += 11_000;
    const again = (await pull()).receivedMessages;
    const ackIds = again.map(({ ackId }: { ackId: string }) => ackId);
    await robot.call('POST', `${path}:acknowledge`, { ackIds });
    now += 11_000;
    expect(await pull()).toEqual({});
    expect((await anna.call('POST', `${path}:pull`, { maxMessages: 1 })).status).toBe(403);
    await stub.stop();
    expectDocumented(stub);
  });
});
