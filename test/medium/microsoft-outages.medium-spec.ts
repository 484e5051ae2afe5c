import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../src/platform/database/sql.ts';
import { listFailures } from '../../src/sync/failures/sync-failures.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { GraphClient } from '../support/microsoft/graph-client.ts';
import type { StubSettings } from '../support/microsoft/settings.ts';
import { MicrosoftDriver } from '../support/mirror/microsoft-driver.ts';
import { MirrorWorld } from '../support/mirror/mirror-world.ts';
import { PassingClock } from '../support/passing-clock.ts';

const MORE = ['Calendars.ReadWrite', 'Contacts.ReadWrite'];
const MINUTE = 60_000;
const AT = {
  start: { dateTime: '2030-03-18T09:00:00', timeZone: 'UTC' },
  end: { dateTime: '2030-03-18T10:00:00', timeZone: 'UTC' },
};
/** Three days in a row. */
const DAILY = {
  pattern: { type: 'daily', interval: 1 },
  range: { type: 'numbered', startDate: '2030-03-18', numberOfOccurrences: 3 },
};

const OBJECTS = `
  select 'calendar ' || name as one from calendar where account_id = $1
  union all select 'event ' || e.title || ' ' || (e.recurrence is not null) || coalesce(e.recurrence->>'rrule', '')
    from event e join calendar c on c.id = e.calendar_id where c.account_id = $1 and e.status <> 'cancelled'
  union all select 'contact ' || (content->>'given_name') from contact where account_id = $1 and source = 'address_book'
  union all select 'message ' || subject from message where account_id = $1 and not deleting
  union all select 'folder ' || display_name from folder where account_id = $1
  order by 1`;

describe('a Microsoft mailbox that fails for a while', () => {
  let driver: MicrosoftDriver;
  let world: MirrorWorld;
  const clock = new PassingClock();

  beforeAll(async () => {
    driver = await MicrosoftDriver.start(MORE);
    driver.stub.now = () => clock.now().getTime();
    const { origin } = driver.stub;
    const environment = { MICROSOFT_LOGIN_URL: origin, MICROSOFT_GRAPH_URL: origin };
    world = await MirrorWorld.start(driver, clock, environment);
    const { contacts } = driver.stub.user(driver.email);
    const outlook = another();
    const team = await outlook.send('POST', 'me/calendars', { name: 'Team' });
    await outlook.send('POST', `me/calendars/${String(team.body['id'])}/events`, {
      subject: 'Plan',
      ...AT,
    });
    await outlook.send('POST', 'me/events', { subject: 'Stand-up', ...AT, recurrence: DAILY });
    contacts.add(contacts.addFolder('Friends').id, { givenName: 'Ada' });
    contacts.add(contacts.defaultFolder.id, { givenName: 'Bea' });
    const projects = await driver.createFolder('Projects');
    await driver.put({ mime: 'Subject: One\r\n\r\nHello', folders: [projects] });
    await driver.put({ mime: 'Subject: Two\r\n\r\nHello' });
    await world.open();
    await world.settle();
  });
  afterAll(async () => {
    await world.close();
    await driver.stop();
  });
  beforeEach(async () => {
    driver.stub.settings.outage = null;
    await passes(2);
  });

  /** Another program of the same person. */
  const another = () =>
    new GraphClient(driver.stub, driver.stub.tokensFor(driver.email, MORE).accessToken);
  const objects = async () =>
    (await world.query<{ one: string }>(OBJECTS, world.account.id)).map(({ one }) => one);
  const deletions = async () =>
    (
      await world.query(
        `select 1 from change where account_id = $1 and event = 'delete'`,
        world.account.id,
      )
    ).length;
  /** Passes five minutes apart: also those that wait after a failure are due. */
  async function passes(count: number) {
    for (let n = 0; n < count; n += 1) {
      await clock.pass(5 * MINUTE + 1_000);
      await world.wait();
      await world.pass();
    }
  }

  /** Makes objects at the provider: one of each kind to be changed, and one to be deleted. */
  async function objectsToChange(name: string) {
    const made = async (path: string, body: (what: string) => object) => {
      const ids: string[] = [];
      for (const what of ['Kept', 'Gone'])
        ids.push((await world.api('post', path, body(`${what} ${name}`))).id as string);
      return ids.map((id) => `${path}/${id}`) as [string, string];
    };
    const primary = (await world.api('get', '/calendars')).find(
      ({ is_primary }: { is_primary: boolean }) => is_primary,
    );
    const when = { start_time: 2_000_000_000, end_time: 2_000_003_600 };
    const calendars = await made('/calendars', (one) => ({ name: one }));
    const events = await made('/events', (title) => ({ title, when, calendar_id: primary.id }));
    const contacts = await made('/contacts', (given_name) => ({ given_name }));
    const folders = await made('/folders', (display_name) => ({ display_name }));
    const drafts = await made('/drafts', (subject) => ({ subject, body: 'Hi' }));
    await world.write();
    await passes(2);
    const changed = `Changed ${name}`;
    const version = async (path: string) => ({
      version: (await world.api('get', path)).version as number,
    });
    const kept: [string, object][] = [
      [calendars[0], { name: changed }],
      [events[0], { title: changed }],
      [contacts[0], { given_name: changed }],
      [folders[0], { display_name: changed }],
      [drafts[0], { subject: changed, ...(await version(drafts[0])) }],
    ];
    const gone: [string, object][] = [calendars, events, contacts, folders].map(([, one]) => [
      one,
      {},
    ]);
    return { kept, gone: [...gone, [drafts[1], await version(drafts[1])] as [string, object]] };
  }

  it.each<NonNullable<StubSettings['outage']>>([
    'not-enabled',
    'not-found',
    'unknown',
    'bad-request',
    'empty-lists',
    'empty',
  ])('loses nothing and reports no deletion while requests are answered by %s', async (outage) => {
    const before = await objects();
    expect(before).toHaveLength(15);
    const deleted = await deletions();
    driver.stub.settings.outage = outage;
    await passes(4);
    expect([await objects(), await deletions()]).toEqual([before, deleted]);
    driver.stub.settings.outage = null;
    await passes(3);
    expect([await objects(), await deletions()]).toEqual([before, deleted]);
  });

  it.each<NonNullable<StubSettings['outage']>>(['not-enabled', 'empty', 'empty-lists'])(
    'loses nothing if Microsoft has also forgotten all cursors and answers by %s',
    async (outage) => {
      const before = await objects();
      const deleted = await deletions();
      driver.stub.expireDeltaLinks();
      await world.query(
        'update calendar set event_cursor = null where account_id = $1',
        world.account.id,
      );
      driver.stub.settings.outage = outage;
      await passes(4);
      expect([await objects(), await deletions()]).toEqual([before, deleted]);
      driver.stub.settings.outage = null;
      await passes(4);
      expect([await objects(), await deletions()]).toEqual([before, deleted]);
    },
  );

  it.each<NonNullable<StubSettings['outage']>>(['not-enabled', 'not-found', 'unknown', 'empty'])(
    'gets the changes that clients ask for while its requests are answered by %s',
    async (outage) => {
      const { kept, gone } = await objectsToChange(outage);
      driver.stub.settings.outage = outage;
      for (const [path, body] of kept) await world.api('put', path, body);
      for (const [path, body] of gone) await world.api('delete', path, body);
      for (let attempts = 0; attempts < 3; attempts += 1) await world.attemptWrites();
      driver.stub.settings.outage = null;
      await world.write();
      const jobs = await world.query(
        `select action, reason from job_status where account_id = $1 and status <> 'successful'`,
        world.account.id,
      );
      expect(jobs).toEqual([]);
      await passes(2);
      const { calendars, contacts, mailbox } = driver.stub.user(driver.email);
      const there = [
        ...[...calendars.calendars.values()].map(({ name }) => name),
        ...calendars.allEvents().map(({ subject }) => subject),
        ...contacts.contactsIn(contacts.defaultFolder.id).map(({ fields }) => fields['givenName']),
        ...[...mailbox.folders.values()].map(({ displayName }) => displayName),
        ...[...mailbox.messagesIn(mailbox.folderId('drafts')).values()].map(
          ({ subject }) => subject,
        ),
      ].filter((name) => String(name).endsWith(outage));
      expect(there.map(String).toSorted()).toEqual(kept.map(() => `Changed ${outage}`));
    },
  );

  it.each([
    ['403', { status: 403, body: { error: { code: 'ErrorAccessDenied', message: 'Denied.' } } }],
    ['503 with a page', { status: 503, raw: '<html>Service unavailable</html>' }],
  ])('reads the other calendars if one is not listed and answered by %s', async (name, answer) => {
    const { body } = await another().send('GET', 'me/calendars');
    const value = (body['value'] as { id: string; name: string }[]).filter(
      (one) => one.name !== 'Team',
    );
    const team = (body['value'] as { id: string; name: string }[]).find(
      (one) => one.name === 'Team',
    )!;
    const { faults } = driver.stub;
    const isList = ({ method, path }: StubRequest) =>
      method === 'GET' && path.endsWith('/me/calendars');
    const isTeam = ({ path }: StubRequest) => path.includes(encodeURIComponent(team.id));
    faults.add({ match: isList, answer: { status: 200, body: { value } }, times: Infinity });
    faults.add({ match: isTeam, answer, times: Infinity });
    const before = await objects();
    await another().send('POST', 'me/events', { subject: `While ${name}`, ...AT });
    await passes(3);
    const during = await objects();
    faults.clear();
    expect(during).toEqual([...before, `event While ${name} false`].toSorted());
  });

  it('is shown as failing while it lasts, and runs afterwards', async () => {
    driver.stub.settings.outage = 'not-enabled';
    await passes(6);
    const failing = await world.api('get', '/account');
    expect(failing).toMatchObject({ sync_state: 'sync-error' });
    driver.stub.settings.outage = null;
    await clock.pass(60 * MINUTE);
    await passes(3);
    expect(await world.api('get', '/account')).toMatchObject({ sync_state: 'running' });
  });

  it.each(['last', 'all'] as const)(
    'keeps all instances of a series, whatever changes, while lists of instances lack %s',
    async (lacking) => {
      const before = await objects();
      const deleted = await deletions();
      const standUp = (await another().list('me/events')).find(({ recurrence }) => recurrence);
      const rename = (subject: string) =>
        another().send('PATCH', `me/events/${String(standUp?.['id'])}`, { subject });
      driver.stub.settings.unlistedInstances = lacking;
      await rename('Renamed');
      await another().send('POST', 'me/events', { subject: `Beside ${lacking}`, ...AT });
      await passes(3);
      const beside = `event Beside ${lacking} false`;
      const sorted = (all: string[]) => all.toSorted();
      expect(sorted(await objects())).toEqual(sorted([...before, beside]));
      const failures = await listFailures(world.server.app.get(Database), 10, world.account.id);
      expect(failures.map(({ providerId }) => providerId)).toEqual([standUp?.['id']]);
      driver.stub.settings.unlistedInstances = null;
      await passes(2);
      const renamed = before.map((one) => one.replace('Stand-up', 'Renamed'));
      expect(sorted(await objects())).toEqual(sorted([...renamed, beside]));
      expect(await listFailures(world.server.app.get(Database), 10, world.account.id)).toEqual([]);

      await rename('Stand-up');
      const made = (await another().list('me/events')).find(
        ({ subject }) => subject === `Beside ${lacking}`,
      );
      await another().send('DELETE', `me/events/${String(made?.['id'])}`);
      await passes(2);
      expect([await objects(), await deletions()]).toEqual([before, deleted + 1]);
    },
  );

  it.each(['inbox', 'archive'])(
    'goes on with everything else if one message makes each page of the folder %s fail',
    async (folder) => {
      const { mailbox } = driver.stub.user(driver.email);
      const folderId = mailbox.folderId(folder);
      const put = (subject: string, id = folderId) =>
        driver.put({ mime: `Subject: ${subject}\r\n\r\nHello`, folders: [id] });
      for (let n = 1; n <= 3; n += 1) await put(`Before ${n} in ${folder}`);
      const broken = await put(`Broken in ${folder}`);
      driver.stub.settings.brokenMessages.add(broken);
      await put(`Elsewhere ${folder}`, mailbox.folderId('deleteditems'));
      await another().send('POST', 'me/events', { subject: `Event ${folder}`, ...AT });
      await passes(4);
      const shown = (await objects()).join();
      expect(shown).toMatch(`Elsewhere ${folder}`);
      expect(shown).toMatch(`Event ${folder}`);
      expect(shown).toMatch(`Before 3 in ${folder}`);
      const [failure] = await listFailures(world.server.app.get(Database), 10, world.account.id);
      expect(failure).toMatchObject({
        providerId: folderId,
        reason: expect.stringMatching(`the changes of the folder ${folder} cannot be read`),
      });
      expect((await world.api('get', '/account')).sync_state).toBe('sync-error');

      driver.stub.settings.brokenMessages.clear();
      await passes(3);
      expect((await objects()).join()).toMatch(`Broken in ${folder}`);
      expect(await listFailures(world.server.app.get(Database), 10, world.account.id)).toEqual([]);
      expect((await world.api('get', '/account')).sync_state).toBe('running');
    },
  );

  describe('a folder that Microsoft has forgotten the state of', () => {
    const put = (subject: string) =>
      driver.put({ mime: `Subject: ${subject}\r\n\r\nHello`, folders: [archive()] });
    const archive = () => driver.stub.user(driver.email).mailbox.folderId('archive');
    const isIdList = ({ path, query }: StubRequest) =>
      path.endsWith('/messages') && query.get('$select') === 'id';

    it('is compared although it counts items that are in no list', async () => {
      driver.stub.settings.unlistedItems = 3;
      const lost = await put('Lost');
      await passes(2);
      expect((await objects()).join()).toMatch('message Lost');
      driver.stub.expireDeltaLinks();
      await driver.remove(lost);
      await put('Arrived');
      await passes(4);
      driver.stub.settings.unlistedItems = 0;
      const shown = (await objects()).join();
      expect(shown).toMatch('message Arrived');
      expect(shown).not.toMatch('message Lost');
      expect((await world.api('get', '/account')).sync_state).toBe('running');
    });

    it('is compared although it was not found when it was listed again', async () => {
      const lost = await put('Lost in between');
      await passes(2);
      expect((await objects()).join()).toMatch('message Lost in between');
      driver.stub.expireDeltaLinks();
      await driver.remove(lost);
      const match = ({ path, query }: StubRequest) =>
        path.endsWith(`/${archive()}/messages/delta`) && query.has('$select');
      const error = { code: 'ErrorItemNotFound', message: 'Not found.' };
      driver.stub.faults.add({ match, answer: { status: 404, body: { error } } });
      await passes(4);
      expect((await objects()).join()).not.toMatch('message Lost in between');
      expect((await world.api('get', '/account')).sync_state).toBe('running');
    });

    it('loses only what was deleted, however much its list lacks', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 130; n += 1) ids.push(await put(`Many ${n}`));
      await passes(4);
      const many = async () => (await objects()).filter((one) => one.startsWith('message Many'));
      expect(await many()).toHaveLength(130);
      driver.stub.expireDeltaLinks();
      for (const id of ids.slice(0, 10)) await driver.remove(id);
      const answer = { status: 200, body: { value: [] } };
      driver.stub.faults.add({ match: isIdList, answer, times: 100 });
      await passes(6);
      driver.stub.faults.clear();
      expect(await many()).toHaveLength(120);
      expect((await world.api('get', '/account')).sync_state).toBe('running');
    });

    it('is skipped while its list cannot be read', async () => {
      driver.stub.expireDeltaLinks();
      const match = (request: StubRequest) => isIdList(request) && request.path.includes(archive());
      driver.stub.faults.add({ match, answer: { status: 504 }, times: 1_000 });
      await driver.put({ mime: 'Subject: Beside\r\n\r\nHello' });
      await another().send('POST', 'me/events', { subject: 'Event beside', ...AT });
      await passes(4);
      const shown = (await objects()).join();
      expect(shown).toMatch('message Beside');
      expect(shown).toMatch('Event beside');
      driver.stub.faults.clear();
      await passes(4);
      expect((await world.api('get', '/account')).sync_state).toBe('running');
    });
  });

  it('loses a calendar and a mail folder that were deleted at once, and a contact folder after an hour', async () => {
    const outlook = another();
    const calendars = await outlook.list('me/calendars');
    const team = calendars.find(({ name }) => name === 'Team');
    await outlook.send('DELETE', `me/calendars/${String(team?.['id'])}`);
    const { contacts, mailbox } = driver.stub.user(driver.email);
    const friends = [...contacts.folders.values()].find(
      ({ displayName }) => displayName === 'Friends',
    );
    contacts.removeFolder(friends!);
    const projects = [...mailbox.folders.values()].find(
      ({ displayName }) => displayName === 'Projects',
    );
    mailbox.deleteFolder(projects!);
    await passes(2);
    expect((await objects()).join()).not.toMatch(/Team|Plan|Projects|One/);
    await clock.pass(60 * MINUTE);
    await passes(1);
    const left = (await objects()).join();
    expect(left).not.toMatch('Ada');
    expect(left).toMatch('Bea');
  });

  it('believes that a calendar is empty when that has lasted for an hour', async () => {
    const outlook = another();
    for (const { id } of await outlook.list('me/events'))
      await outlook.send('DELETE', `me/events/${String(id)}`);
    await world.query(
      'update calendar set event_cursor = null where account_id = $1',
      world.account.id,
    );
    await passes(2);
    expect((await objects()).join()).toMatch('Stand-up');
    await clock.pass(60 * MINUTE);
    await passes(1);
    expect((await objects()).join()).not.toMatch('Stand-up');
  });

  it('keeps the events of a followed calendar whose list is empty, and finds none of them, for less than an hour', async () => {
    const outlook = another();
    for (const subject of ['First', 'Second'])
      await outlook.send('POST', 'me/events', { subject, ...AT });
    await passes(2);
    const before = await objects();
    expect(before.join()).toMatch('First');
    const isEvent = ({ method, path }: StubRequest) =>
      method === 'GET' && /\/calendars\/[^/]+\/events(\/|$)/.test(path);
    const error = { code: 'ErrorItemNotFound', message: 'Not found.' };
    const fail = (body: object, status: number, isList: boolean) =>
      driver.stub.faults.add({
        match: (one) => isEvent(one) && one.path.endsWith('/events') === isList,
        answer: { status, body },
        times: Infinity,
      });
    fail({ value: [], '@odata.count': 0 }, 200, true);
    fail({ error }, 404, false);
    await passes(10);
    driver.stub.faults.clear();
    expect(await objects()).toEqual(before);
    await clock.pass(60 * MINUTE);
    await passes(2);
    expect(await objects()).toEqual(before);
  });
});
