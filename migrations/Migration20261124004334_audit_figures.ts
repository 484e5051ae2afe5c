import { Migration } from '@mikro-orm/migrations';

export class Migration20261124004334_audit_figures extends Migration {
  override name = 'Migration20261124004334_audit_figures';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_total" ("kind" text not null, "audits" bigint not null default '0', "compared" bigint not null default '0', "missing" bigint not null default '0', "surplus" bigint not null default '0', "changed" bigint not null default '0', "repaired" bigint not null default '0', "skipped" bigint not null default '0', primary key ("kind"));`,
    );

    this.addSql(
      `alter table "mirror_audit" add "missing" int not null default 0, add "surplus" int not null default 0, add "misplaced" int not null default 0, add "folders_skipped" int not null default 0, add "events_missing" int not null default 0, add "events_surplus" int not null default 0, add "events_changed" int not null default 0, add "events_skipped" int not null default 0, add "contacts_missing" int not null default 0, add "contacts_surplus" int not null default 0, add "contacts_changed" int not null default 0, add "contacts_skipped" int not null default 0;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audit_total" cascade;`);

    this.addSql(
      `alter table "mirror_audit" drop column "missing", drop column "surplus", drop column "misplaced", drop column "folders_skipped", drop column "events_missing", drop column "events_surplus", drop column "events_changed", drop column "events_skipped", drop column "contacts_missing", drop column "contacts_surplus", drop column "contacts_changed", drop column "contacts_skipped";`,
    );
  }
}
