import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { FakeDav } from './support/fake-dav.ts';
import { HIGHEST_RSS_MB, LONGEST_ANSWER_MS } from './support/watch.ts';

describe('the fake servers of the hostile tests', () => {
  let server: AttackedServer;
  let dav: FakeDav;

  beforeAll(async () => {
    server = await AttackedServer.start();
    dav = await FakeDav.start();
  });
  afterAll(async () => {
    await server.stop();
    await dav.stop();
  });

  it('can be connected as an account whose mail, events and contacts are mirrored while response times are measured', async () => {
    const stop = server.watch();
    const { imap, smtp, settings } = await server.mailbox();
    imap.deliver({ raw: 'From: eve@evil.test\r\nSubject: Before\r\n\r\nHello\r\n' });
    dav.events.set(
      'one.ics',
      'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:one\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20300101T100000Z\r\nDTEND:20300101T110000Z\r\nSUMMARY:Event\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
    );
    dav.contacts.set(
      'one.vcf',
      'BEGIN:VCARD\r\nVERSION:3.0\r\nUID:one\r\nFN:Bo Example\r\nN:Example;Bo;;;\r\nEND:VCARD\r\n',
    );
    const account = await server.connect('ada@example.test', {
      ...settings,
      caldav_url: dav.origin,
      carddav_url: dav.origin,
    });
    const listed = async <T>(path: string) =>
      (await server.send('GET', path, account.bearer)).body as T[];
    const subjects = async () =>
      (await listed<{ subject: string }>('/messages')).map(({ subject }) => subject);
    await until('the first message', async () => (await subjects()).includes('Before'));
    imap.deliver({ raw: 'From: eve@evil.test\r\nSubject: After\r\n\r\nHello\r\n' });
    await until('the second message', async () => (await subjects()).includes('After'));
    await until('the event', async () =>
      (await listed<{ title: string }>('/events')).some(({ title }) => title === 'Event'),
    );
    await until('the contact', async () =>
      (await listed<{ given_name: string }>('/contacts')).some(
        (contact) => contact.given_name === 'Bo',
      ),
    );
    const watched = await stop();
    expect(smtp.commands.length).toBeGreaterThan(0);
    expect(watched.failures).toEqual([]);
    expect(watched.answers).toEqual({ live: expect.any(Number), messages: expect.any(Number) });
    expect(watched.longestMs).toBeGreaterThan(0);
    expect(watched.longestMs).toBeLessThan(LONGEST_ANSWER_MS);
    expect(watched.highestRssMb).toBeGreaterThan(50);
    expect(watched.highestRssMb).toBeLessThan(HIGHEST_RSS_MB);
  });

  it('are observed by a separate thread, which notices a late response', async () => {
    const stop = server.watch();
    await until('a first answer', async () => server.process.output() !== '');
    server.process.pause();
    const paused = performance.now();
    const longEnough = 2 * LONGEST_ANSWER_MS;
    await until('the pause', () => Promise.resolve(performance.now() - paused > longEnough));
    server.process.resume();
    const watched = await stop();
    expect(watched.longestMs).toBeGreaterThan(LONGEST_ANSWER_MS);
  });
});
