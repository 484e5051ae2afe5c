import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CalendarContent, EventContent } from '../../src/providers/port/connector.ts';
import { codeOf } from '../support/contract-tools.ts';
import { notFound } from '../support/google/errors.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const WRITES = ['DELETE', 'PATCH'];
const START = 1_900_058_400;

const team = (name: string): CalendarContent => ({
  name,
  description: null,
  location: null,
  timezone: null,
});
const event = (title: string): EventContent => ({
  title,
  when: { start_time: START, end_time: START + 3600 },
});

describe('one answer of Google that an object does not exist', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  /** An account with a calendar, an event, a contact and a draft. */
  async function begin() {
    const { calendar, contacts, mailbox } = fixture.connector;
    const account = fixture.account();
    const key = randomUUID();
    const made = await calendar.createCalendar(account, key, team('Team'));
    const { providerId } = await calendar.createEvent(account, made.providerId, key, event('One'));
    const contact = await contacts.createContact(account, key, { given_name: 'Ada' });
    const mime = Buffer.from('Subject: Draft\r\n\r\nHello\r\n');
    const draft = { mime, messageIdHeader: `<${key}@x.test>` };
    const saved = await mailbox.saveDraft(account, draft, null);
    return {
      'a changed event': () => calendar.updateEvent(account, providerId, event('Changed')),
      'a deleted event': () => calendar.deleteEvent(account, providerId),
      'a changed calendar': () => calendar.updateCalendar(account, made.providerId, team('Other')),
      'a deleted calendar': () => calendar.deleteCalendar(account, made.providerId),
      'a changed contact': () =>
        contacts.updateContact(account, contact.providerId, { given_name: 'Bea' }),
      'a deleted contact': () => contacts.deleteContact(account, contact.providerId),
      'a deleted draft': () => mailbox.deleteDraft(account, saved.providerId),
    };
  }

  it.each([
    'a changed event',
    'a deleted event',
    'a changed calendar',
    'a deleted calendar',
    'a changed contact',
    'a deleted contact',
    'a deleted draft',
  ] as const)('is no proof about %s: the request is repeated later', async (what) => {
    const { [what]: write } = await begin();
    const { faults, requests } = fixture.stub;
    const match = ({ method }: { method: string }) => WRITES.includes(method);
    faults.add({ match, answer: notFound().answer() });
    expect(await codeOf(write())).toBe('temporary');
    expect(faults.pending).toBe(0);
    const before = requests.length;
    await write();
    expect(requests.slice(before).filter(match)).toHaveLength(1);
  });

  it('takes no draft of a reply out of its thread', async () => {
    const { stub, connector } = fixture;
    const account = fixture.account();
    const draft = (threadId: string | null) => {
      const mime = Buffer.from('Subject: Plan\r\n\r\nHello\r\n');
      return { mime, messageIdHeader: `<${randomUUID()}@x.test>`, threadId };
    };
    const threadOf = ({ providerId }: { providerId: string }) =>
      stub.world.users
        .get(account.email)
        ?.mailbox.messages()
        .find(({ id }) => id === providerId)?.threadId ?? null;
    const first = await connector.mailbox.saveDraft(account, draft(null), null);
    const thread = threadOf(first);
    stub.faults.add({
      match: ({ method, path }) => method === 'POST' && path.endsWith('/drafts'),
      answer: notFound().answer(),
    });
    const reply = await connector.mailbox.saveDraft(account, draft(thread), null);
    expect(stub.faults.pending).toBe(0);
    expect(threadOf(reply)).toBe(thread);
    expect(thread).not.toBeNull();
  });

  it('is a proof if Google finds other things, and not the object', async () => {
    const objects = await begin();
    for (const what of ['a deleted event', 'a deleted contact', 'a deleted calendar'] as const) {
      await objects[what]();
      await objects[what]();
    }
    for (const what of ['a changed contact', 'a changed calendar'] as const)
      expect(await codeOf(objects[what]())).toBe('not-found');
  });
});
