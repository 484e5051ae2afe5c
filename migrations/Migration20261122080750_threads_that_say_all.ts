import { Migration } from '@mikro-orm/migrations';

const FILL = `
  insert into thread_summary (thread_id, people, message_ids, snippet, has_attachments, length)
  select t.id, coalesce(s.people, '[]'), coalesce(s.ids, '{}'), coalesce(s.snippet, ''), coalesce(s.files, false),
    pg_column_size(coalesce(s.people, '[]')) + pg_column_size(coalesce(s.ids, '{}'))
  from thread t left join (
    select m.thread_id, array_agg(m.id order by m.date, m.id) as ids, bool_or(m.has_attachments) as files,
      (array_agg(m.snippet order by m.date desc, m.id desc))[1] as snippet,
      coalesce(p.people, '[]') as people
    from message m
    left join (
      select e.thread_id, jsonb_agg(e.person order by e.place) as people
      from (
        select o.thread_id, a.person, min((o.place << 32) + a.place) as place
        from (
          select m.thread_id, m.from_addresses || m.to_addresses || m.cc_addresses || m.bcc_addresses as people,
            row_number() over (partition by m.thread_id order by m.date, m.id) as place
          from message m where not m.draft and not m.deleting) o
        cross join jsonb_array_elements(o.people) with ordinality a(person, place)
        group by o.thread_id, a.person) e
      group by e.thread_id) p on p.thread_id = m.thread_id
    where not m.draft and not m.deleting
    group by m.thread_id, p.people) s on s.thread_id = t.id`;

const FILL_PEOPLE = `
  insert into thread_person (thread_id, person, account_id, messages)
  select m.thread_id, x.person, t.account_id, count(*)
  from message m join thread t on t.id = m.thread_id and t.account_id = m.account_id
  cross join unnest(m.participants) x(person)
  where not m.draft and not m.deleting
  group by m.thread_id, x.person, t.account_id`;

const PARTICIPANTS = `
  update thread t set participants = array(select p.person from thread_person p where p.thread_id = t.id order by p.person)`;

/** What lists show of a conversation stands ready, and who is in it is in a table of its own. */
export class Migration20261122080750_threads_that_say_all extends Migration {
  override name = 'Migration20261122080750_threads_that_say_all';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "thread_summary" ("thread_id" uuid not null, "people" jsonb not null, "message_ids" uuid[] not null, "snippet" text not null, "has_attachments" boolean not null, "length" int not null, primary key ("thread_id"));`,
    );
    this.addSql(FILL);
    this.addSql(
      `alter table "thread_summary" add constraint "thread_summary_thread_id_foreign" foreign key ("thread_id") references "thread" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `create table "thread_person" ("thread_id" uuid not null, "person" text not null, "account_id" uuid not null, "messages" int not null, primary key ("thread_id", "person"));`,
    );
    this.addSql(FILL_PEOPLE);
    this.addSql(
      `create index "thread_person_person" on "thread_person" ("account_id", "person", "thread_id", "messages");`,
    );
    this.addSql(
      `alter table "thread_person" add constraint "thread_person_thread_id_foreign" foreign key ("thread_id") references "thread" ("id") on delete cascade;`,
    );
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(`alter table "thread" drop column "participants";`);
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at", "id", "first_message_at", "message_count") where message_count > 0;`,
    );
    this.addSql(`create index "message_thread_drafts" on "message" ("thread_id") where draft;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "message_thread_drafts";`);
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(`alter table "thread" add "participants" text[] not null default '{}';`);
    this.addSql(PARTICIPANTS);
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at", "id", "first_message_at") where message_count > 0;`,
    );
    this.addSql(`drop table "thread_person";`);
    this.addSql(`drop table "thread_summary";`);
  }
}
