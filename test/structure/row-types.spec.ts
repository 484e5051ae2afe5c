import { membersInPlace, rowPropertiesIn, sharedColumnsIn } from './row-types.ts';
import { contentOf, sourceFiles } from './table-uses.ts';

/**
 * Files with members of row types that are written in place without a docstring, although a table
 * of their SQL has a column of that name. The list only gets shorter.
 */
const NOT_YET: readonly string[] = [
  'src/accounts/account-management/list-quota-use.ts',
  'src/accounts/grants/credentials/stored-credentials.ts',
  'src/accounts/grants/credentials/stored-token-owners.ts',
  'src/accounts/grants/proofs/address-loop.repository.ts',
  'src/accounts/grants/proofs/address-proofs.ts',
  'src/accounts/integrations/oauth-integrations.ts',
  'src/accounts/push/push-integrations.ts',
  'src/accounts/sync-schedule/audit-lists.ts',
  'src/app/keys/running-processes.ts',
  'src/calendar/availability/busy.repository.ts',
  'src/calendar/calendars/calendar-mirror.ts',
  'src/calendar/conferencing/meetings.repository.ts',
  'src/calendar/feeds/feeds.repository.ts',
  'src/calendar/notifications/plan/reminder-planner.ts',
  'src/calendar/notifications/reminder.repository.ts',
  'src/calendar/notifications/send/reminder-outcomes.ts',
  'src/calendar/rsvp/meeting-states.sql.ts',
  'src/deltas/deltas.repository.ts',
  'src/job-statuses/jobs.ts',
  'src/mail/drafts/draft-files.ts',
  'src/mail/files/stored-bytes.ts',
  'src/mail/messages/mirror/audited-messages.ts',
  'src/mail/messages/mirror/mirrored-messages.ts',
  'src/mail/outbox/record/sent-copies.ts',
  'src/mail/outbox/sent-by-us.ts',
  'src/mail/outbox/steer/settled-sends.ts',
  'src/mail/outbox/steer/steered-sends.ts',
  'src/mail/threading/find-threads.ts',
  'src/mail/threading/refresh-threads.ts',
  'src/mail/threads/thread-messages.ts',
  'src/mail/tracking/mirrored-mail.ts',
  'src/operator/access/operator-credentials.ts',
  'src/operator/access/operator-tokens.service.ts',
  'src/operator/accounts/account-detail.repository.ts',
  'src/operator/accounts/sign-in-links.service.ts',
  'src/operator/applications/deletion.repository.ts',
  'src/operator/capacity/capacity.repository.ts',
  'src/operator/jobs/job-rows.ts',
  'src/operator/jobs/job-timeline.ts',
  'src/operator/overview/overview.repository.ts',
  'src/platform/budgets/api-use-rows.ts',
  'src/platform/idempotency/idempotency-keys.ts',
  'src/platform/webhooks/feed/feed.repository.ts',
  'src/platform/work/workers/database-identity.ts',
  'src/providers/sandbox/sandbox.calendar.ts',
  'src/providers/sandbox/sandbox.folders.ts',
  'src/providers/sandbox/sandbox.mail-store.ts',
];

const SHARED = new Map([['idColumn', ['id']]]);
const ENTITY = `
  const ThingSchema = defineEntity({ name: 'Thing', tableName: 'thing',
    properties: { ...idColumn, owner: () => p.manyToOne(Owner), name: p.text() } });`;
const TABLES = rowPropertiesIn(ENTITY, SHARED);
const found = (code: string) => membersInPlace(code, TABLES).map(({ name }) => name);

describe('rowPropertiesIn', () => {
  it('reads the properties of a table, with the keys of its relations and its spread columns', () => {
    expect(TABLES).toEqual(new Map([['thing', new Set(['id', 'ownerId', 'name'])]]));
  });
});

describe('membersInPlace', () => {
  it.each([
    ['in the call', "sql.query<{ name: string }>('select name from thing');"],
    ['in an interface', "interface A { name: string } sql.query<A>('select name from thing');"],
    ['in a type', "type A = { name: string } & B; sql.query<A>('select name from thing');"],
  ])('finds a column that is written %s', (_where, code) => {
    expect(found(code)).toEqual(['name']);
  });

  it.each([
    ['comes from the entity', "sql.query<RowOf<Thing, 'name'>>('select name from thing');"],
    ['is no column', "sql.query<{ count: number }>('select count(*) as count from thing');"],
    ['belongs to a table that the file does not use', "sql.query<{ name: string }>('select 1');"],
    ['is only the id', "sql.query<{ id: string }>('select id from thing');"],
    [
      'has a docstring with the difference',
      "sql.query<{\n/** In lower case. */\nname: string }>('select lower(name) as name from thing');",
    ],
  ])('leaves out a member that %s', (_what, code) => {
    expect(found(code)).toEqual([]);
  });
});

describe('row types of statements', () => {
  it('are made of entities, so that a column that no entity has does not compile', () => {
    const shared = sharedColumnsIn(contentOf('src/platform/database/base-columns.ts'));
    const entities = sourceFiles().filter((file) => file.endsWith('.entity.ts'));
    const tables = new Map(
      entities.flatMap((file) => [...rowPropertiesIn(contentOf(file), shared)]),
    );
    const inPlace = sourceFiles().filter(
      (file) => membersInPlace(contentOf(file), tables).length > 0,
    );
    expect(inPlace.toSorted()).toEqual(NOT_YET);
  });
});
