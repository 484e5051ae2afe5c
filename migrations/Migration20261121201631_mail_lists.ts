import { Migration } from '@mikro-orm/migrations';

export class Migration20261121201631_mail_lists extends Migration {
  override name = 'Migration20261121201631_mail_lists';

  override up(): void | Promise<void> {
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(
      `alter table "thread" add "last_received_at" timestamptz null, add "last_sent_at" timestamptz null, add "message_count" int not null default 0, add "unread" boolean not null default false, add "starred" boolean not null default false, add "participants" text[] not null default '{}', add "folder_ids" uuid[] not null default '{}', add "version" int not null default 0, add "updated_at" timestamptz not null default now();`,
    );
    this.addSql(
      `create index "thread_account_unread" on "thread" ("account_id", "last_message_at", "id") where message_count > 0 and unread;`,
    );
    this.addSql(
      `create index "thread_account_starred" on "thread" ("account_id", "last_message_at", "id") where message_count > 0 and starred;`,
    );
    this.addSql(
      `create index "thread_account_exact_subject" on "thread" (account_id, md5(subject), last_message_at, id);`,
    );
    this.addSql(
      `create index "thread_account_first" on "thread" ("account_id", "first_message_at");`,
    );
    this.addSql(`create index "thread_account_updated" on "thread" ("account_id", "updated_at");`);
    this.addSql(`create index "thread_folders" on "thread" using gin ("folder_ids");`);
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at", "id") where message_count > 0;`,
    );

    this.addSql(`drop index "message_account_date";`);
    this.addSql(`drop index "message_account_unread";`);
    this.addSql(
      `create index "message_account_drafts" on "message" ("account_id", "date", "id") where draft;`,
    );
    this.addSql(
      `create index "message_account_starred" on "message" ("account_id", "date", "id") where starred and not draft;`,
    );
    this.addSql(
      `create index "message_account_attachments" on "message" ("account_id", "date", "id") where has_attachments and not draft;`,
    );
    this.addSql(
      `create index "message_account_metadata" on "message" ("account_id", "date", "id") where metadata <> '{}'::jsonb;`,
    );
    this.addSql(
      `create index "message_account_subject" on "message" (account_id, md5(subject), date, id);`,
    );
    this.addSql(
      `create index "message_account_date" on "message" ("account_id", "date", "id") where not draft;`,
    );
    this.addSql(
      `create index "message_account_unread" on "message" ("account_id", "date", "id") where unread and not draft;`,
    );

    this.addSql(`drop index "message_folder_folder";`);
    this.addSql(`alter table "message_folder" add "date" timestamptz null;`);
    this.addSql(
      `update "message_folder" mf set "date" = m."date" from "message" m where m."id" = mf."message_id";`,
    );
    this.addSql(`alter table "message_folder" alter column "date" set not null;`);
    this.addSql(
      `create index "message_folder_folder" on "message_folder" ("folder_id", "date", "message_id");`,
    );

    // What stands in conversations from here on.
    this.addSql(`
      update thread t set
        first_message_at = coalesce(s.first_at, s.first_draft_at, t.first_message_at),
        last_message_at = coalesce(s.last_at, s.last_draft_at, t.last_message_at),
        last_received_at = s.last_received_at, last_sent_at = s.last_sent_at, message_count = s.messages,
        unread = s.unread, starred = s.starred, participants = s.participants, folder_ids = s.folder_ids,
        updated_at = now()
      from (select id from thread) given
      cross join lateral (
        select min(m.date) filter (where not m.draft) as first_at, max(m.date) filter (where not m.draft) as last_at,
          min(m.date) as first_draft_at, max(m.date) as last_draft_at,
          max(m.date) filter (where not m.draft and m.sent) as last_sent_at,
          max(m.date) filter (where not m.draft and (m.arrived or not m.sent)) as last_received_at,
          count(*) filter (where not m.draft) as messages,
          coalesce(bool_or(m.unread) filter (where not m.draft), false) as unread,
          coalesce(bool_or(m.starred) filter (where not m.draft), false) as starred,
          array(select distinct p from message o, unnest(o.participants) p
                where o.thread_id = given.id and not o.draft and not o.deleting order by p) as participants,
          array(select distinct mf.folder_id from message o join message_folder mf on mf.message_id = o.id
                where o.thread_id = given.id and not o.draft and not o.deleting order by mf.folder_id) as folder_ids
        from (
          select m.date, m.draft, m.unread, m.starred,
            coalesce(f.sent, false) or coalesce(lower(m.from_addresses -> 0 ->> 'email') = lower(g.email), false) as sent,
            coalesce(f.inbox, false) as arrived
          from message m
          join "grant" g on g.id = m.account_id
          left join lateral (
            select bool_or(f.name = 'sent') as sent, bool_or(f.name = 'inbox') as inbox
            from message_folder mf join folder f on f.id = mf.folder_id where mf.message_id = m.id) f on true
          where m.thread_id = given.id and not m.deleting) m) s
      where t.id = given.id;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "message_account_drafts";`);
    this.addSql(`drop index "message_account_starred";`);
    this.addSql(`drop index "message_account_attachments";`);
    this.addSql(`drop index "message_account_metadata";`);
    this.addSql(`drop index "message_account_subject";`);
    this.addSql(`drop index "message_account_date";`);
    this.addSql(`drop index "message_account_unread";`);
    this.addSql(`create index "message_account_date" on "message" ("account_id", "date", "id");`);
    this.addSql(
      `create index "message_account_unread" on "message" ("account_id", "date", "id") where unread;`,
    );

    this.addSql(`drop index "message_folder_folder";`);
    this.addSql(`alter table "message_folder" drop column "date";`);
    this.addSql(`create index "message_folder_folder" on "message_folder" ("folder_id");`);

    this.addSql(`drop index "thread_account_unread";`);
    this.addSql(`drop index "thread_account_starred";`);
    this.addSql(`drop index "thread_account_exact_subject";`);
    this.addSql(`drop index "thread_account_first";`);
    this.addSql(`drop index "thread_account_updated";`);
    this.addSql(`drop index "thread_folders";`);
    this.addSql(`drop index "thread_account_last";`);
    this.addSql(
      `alter table "thread" drop column "last_received_at", drop column "last_sent_at", drop column "message_count", drop column "unread", drop column "starred", drop column "participants", drop column "folder_ids", drop column "version", drop column "updated_at";`,
    );
    this.addSql(
      `create index "thread_account_last" on "thread" ("account_id", "last_message_at");`,
    );
  }
}
