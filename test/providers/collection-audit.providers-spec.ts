import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { CompletenessView } from '../../src/sync/completeness/completeness.schema.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { DavContacts } from '../../src/providers/imap/dav/contacts/dav.contacts.ts';
import { davAccount, makeAddressBook, makeCalendar, otherClient } from '../support/dav-account.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { type DavServer, startRadicale } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const file = (kind: string, lines: readonly string[]) =>
  [`BEGIN:${kind}`, ...lines, `END:${kind}`, ''].join('\r\n');
const meeting = (uid: string, title: string, lines: readonly string[] = []) =>
  file('VCALENDAR', [
    'VERSION:2.0',
    'PRODID:-//Other//EN',
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20260101T000000Z',
    'DTSTART:20300301T090000Z',
    'DTEND:20300301T100000Z',
    `SUMMARY:${title}`,
    ...lines,
    'END:VEVENT',
  ]);
const card = (uid: string, name: string) =>
  file('VCARD', ['VERSION:3.0', `UID:${uid}`, `FN:${name}`, `N:;${name};;;`]);

interface Audited {
  events_checked: number;
  events_repaired: number;
  contacts_checked: number;
  contacts_repaired: number;
}

/** Damages the mirror by hand. The audit must make it equal to the server again. */
describeWith(['radicale'], 'the audit of calendars and contacts on a DAV server', () => {
  const clock = new PassingClock();
  let radicale: DavServer;
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    radicale = await startRadicale();
    server = await startTestApp({}, { clock });
    const { app } = server;
    const services = [app.get(EgressClient), app.get(Clock), app.get(WorkThreads)] as const;
    const [calendar, contacts] = [new DavCalendars(...services), new DavContacts(...services)];
    app
      .get(ConnectorRegistry)
      .replace({ name: 'imap', calendar, contacts } as unknown as Connector);
    application = await createApplication(app);
  });
  afterAll(async () => {
    await server.close();
    await radicale.stop();
  });

  async function connect() {
    const user = `user-${randomUUID()}`;
    await radicale.addUser(user, 'secret');
    const remote = davAccount(radicale.url, user, 'secret');
    const other = otherClient(remote);
    const [calendar, book] = [await makeCalendar(remote), await makeAddressBook(remote)];
    for (let n = 0; n < 20; n++) {
      const lines = n < 5 ? ['RRULE:FREQ=DAILY;COUNT=4'] : [];
      await other('PUT', `${calendar}${n}.ics`, meeting(`event-${n}`, `event ${n}`, lines));
      await other('PUT', `${book}${n}.vcf`, card(`card-${n}`, `Person ${n}`));
    }
    const account = await createAccount(server.app, application, {
      provider: 'imap',
      email: remote.email,
      settings: remote.settings,
      mirrored: true,
    });
    const rows = <T extends object>(text: string) =>
      server.app.get(Database).query<T>(text, [account.id]);
    const waitsForSecondProof = async () => {
      const text = `select from mirror_audit where account_id = $1
        and (collections ->> 'confirming')::boolean and collections_at > now()`;
      return (await rows(text)).length > 0;
    };
    const audited = () =>
      until('the audit', async () => {
        if (await waitsForSecondProof()) await clock.pass(3_601_000);
        const [row] = await rows<Audited>(
          `select events_checked, events_repaired, contacts_checked, contacts_repaired from mirror_audit
           where account_id = $1 and collections is null and collections_at > now()`,
        );
        return row ?? false;
      });
    const auditNow = async () => {
      await rows(`update mirror_audit set collections_at = now() where account_id = $1`);
      await rows(`update sync_job set run_at = now(), again = true where account_id = $1`);
      server.app.get(Signals).wake('sync');
      return audited();
    };
    const mirror = async () => ({
      events: await rows(
        `select title, recurrence, starts_at from event where account_id = $1 and status <> 'cancelled' order by provider_id`,
      ),
      contacts: await rows(
        `select content from contact where account_id = $1 order by provider_id`,
      ),
    });
    const collections = async () => {
      const { body } = await request(server.url)
        .get(`/a/${application.clientId}/accounts/${account.id}/completeness`)
        .set(application.secretBasic);
      return (body as CompletenessView).collections;
    };
    /** Ids of deleted objects in the change log, and of those in stored events. */
    const reportedLost = async (object: 'event' | 'contact') => {
      const logged = await rows<{ id: string }>(
        `select object_id as id from change where account_id = $1 and event = 'delete' and object = '${object}' order by 1`,
      );
      const stored = await rows<{ id: string }>(
        `select convert_from(body, 'UTF8')::jsonb #>> '{deltas,0,object_data,id}' as id from webhook_event
         where account_id = $1 and type = '${object}.deleted' order by 1`,
      );
      return { logged: logged.map(({ id }) => id), stored: stored.map(({ id }) => id) };
    };
    await audited();
    return { auditNow, mirror, rows, collections, reportedLost };
  }

  it('repairs 40 percent that are missing, contents that differ, and objects that do not exist', async () => {
    await createWebhook(server.app, application, 'https://receiver.test/hook', {
      triggers: ['event.deleted', 'contact.deleted'],
    });
    const { auditNow, mirror, rows, collections, reportedLost } = await connect();
    const whole = await mirror();
    expect([whole.events.length, whole.contacts.length]).toEqual([20, 20]);
    const proven = [
      { object: 'event', complete: true, provider: 20, mirror: 20, unstored: 0, since_audit: 0 },
      { object: 'contact', complete: true, provider: 20, mirror: 20, unstored: 0, since_audit: 0 },
    ];
    expect(await collections()).toMatchObject(proven);
    const lost: Record<string, string[]> = {};
    for (const table of ['event', 'contact']) {
      const deleted = await rows<{ id: string }>(
        `delete from ${table} where id in (select id from ${table} where account_id = $1 order by provider_id limit 8) returning id`,
      );
      lost[table] = deleted.map(({ id }) => id).toSorted();
      await rows(
        `update ${table} set provider_id = provider_id || '.gone'
         where id in (select id from ${table} where account_id = $1 order by provider_id desc limit 2)`,
      );
    }
    await rows(
      `update event set title = 'wrong', location = 'wrong'
       where id in (select id from event where account_id = $1 order by provider_id limit 3)`,
    );
    await rows(
      `update contact set content = content || '{"given_name":"wrong"}'
       where id in (select id from contact where account_id = $1 order by provider_id limit 3)`,
    );
    expect(await collections()).toMatchObject(
      ['event', 'contact'].map((object) => ({
        object,
        complete: false,
        reasons: ['missing'],
        provider: 20,
        mirror: 12,
        missing: 8,
        missing_ids: lost[object],
      })),
    );
    // Eight are missing, three are wrong, and two have an id that does not exist instead of theirs.
    expect(await auditNow()).toEqual({
      events_checked: 20,
      events_repaired: 15,
      contacts_checked: 20,
      contacts_repaired: 15,
    });
    expect(await mirror()).toEqual(whole);
    expect(await collections()).toMatchObject(proven);
    // Clients have to forget the ids of what was lost, and of what had a wrong id.
    const reported = { event: await reportedLost('event'), contact: await reportedLost('contact') };
    for (const object of ['event', 'contact'] as const) {
      expect(reported[object].logged).toEqual(expect.arrayContaining(lost[object] ?? []));
      expect(reported[object].logged).toHaveLength(10);
      expect(reported[object].stored).toEqual(reported[object].logged);
    }
    expect(await auditNow()).toMatchObject({ events_repaired: 0, contacts_repaired: 0 });
    expect(await reportedLost('event')).toEqual(reported.event);
  });

  it('reports the events of a lost calendar as deleted when it is stored under another id', async () => {
    const { auditNow, mirror, rows, collections, reportedLost } = await connect();
    const whole = await mirror();
    const events = await rows<{ id: string }>('select id from event where account_id = $1');
    // Events that were stored before the change log begins are named by the last audit alone.
    await rows(`delete from change where account_id = $1 and object = 'event'`);
    await rows('delete from calendar where account_id = $1');
    await rows('update sync_job set calendars_at = null where account_id = $1');
    await auditNow();
    await auditNow();
    expect(await mirror()).toEqual(whole);
    expect((await collections()).map(({ complete }) => complete)).toEqual([true, true]);
    const { logged } = await reportedLost('event');
    expect(logged).toEqual(events.map(({ id }) => id).toSorted());
  });
});
