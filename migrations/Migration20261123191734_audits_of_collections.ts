import { Migration } from '@mikro-orm/migrations';

export class Migration20261123191734_audits_of_collections extends Migration {
  override name = 'Migration20261123191734_audits_of_collections';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "mirror_audit" add "collections_at" timestamptz not null default now(), add "collections" jsonb null, add "events_checked" int not null default 0, add "events_repaired" int not null default 0, add "contacts_checked" int not null default 0, add "contacts_repaired" int not null default 0;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "mirror_audit" drop column "collections_at", drop column "collections", drop column "events_checked", drop column "events_repaired", drop column "contacts_checked", drop column "contacts_repaired";`,
    );
  }
}
