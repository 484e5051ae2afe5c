import { expectDocumented } from '../remote-stub/remote-stub.ts';
import { GraphClient } from './graph-client.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

const ANN = 'ann@contoso.test';

describe('contacts of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  let ann: GraphClient;

  beforeEach(async () => {
    stub = await MicrosoftStub.start();
    stub.addUser(ANN);
    ann = new GraphClient(stub, stub.tokensFor(ANN, ['Contacts.ReadWrite']).accessToken);
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  it('creates, changes and deletes contacts, and reports that to delta queries', async () => {
    const made = await ann.send('POST', 'me/contacts', {
      givenName: 'Bea',
      surname: 'Stone',
      emailAddresses: [{ address: 'bea@x.test', name: 'Bea' }],
    });
    expect([made.status, made.body['displayName']]).toEqual([201, 'Bea Stone']);
    const id = String(made.body['id']);
    const first = await ann.delta('me/contacts/delta');
    expect(first.items).toMatchObject([{ id, givenName: 'Bea' }]);
    await ann.send('PATCH', `me/contacts/${id}`, { jobTitle: 'Head' });
    const second = await ann.delta(first.link);
    expect(second.items).toMatchObject([{ id, jobTitle: 'Head', surname: 'Stone' }]);
    expect((await ann.send('DELETE', `me/contacts/${id}`)).status).toBe(204);
    expect((await ann.delta(second.link)).items).toMatchObject([
      { id, '@removed': { reason: 'deleted' } },
    ]);
  });

  it('keeps folders of contacts apart', async () => {
    const { body } = await ann.send('POST', 'me/contactFolders', { displayName: 'Friends' });
    const path = `me/contactFolders/${String(body['id'])}/contacts`;
    await ann.send('POST', path, { givenName: 'Cid' });
    expect(await ann.list(path)).toHaveLength(1);
    expect(await ann.list('me/contacts')).toEqual([]);
    expect(await ann.list('me/contactFolders')).toMatchObject([{ displayName: 'Friends' }]);
  });

  it('has no photo until one was written', async () => {
    const { body } = await ann.send('POST', 'me/contacts', { givenName: 'Bea' });
    const path = `me/contacts/${String(body['id'])}/photo/$value`;
    expect((await ann.send('GET', path)).status).toBe(404);
    expect((await ann.send('PUT', path, 'bytes')).status).toBe(200);
    expect((await ann.send('GET', path)).body).toEqual({ text: 'bytes' });
  });
});
