import { Migration } from '@mikro-orm/migrations';

/**
 * What waits for the second proof of a deletion (ADR 0124). It replaces columns that no release has
 * used. Old processes write nothing here: what they doubt is compared by the next usual audit.
 */
export class Migration20261127190000_second_proofs extends Migration {
  override name = 'Migration20261127190000_second_proofs';

  override up(): void | Promise<void> {
    this.addSql(`alter table "calendar" drop column "emptied_since";`);
    this.addSql(`alter table "sync_job" drop column "contacts_emptied_since";`);
    this.addSql(
      `alter table "mirror_audit" add "collections_doubted" boolean not null default false;`,
    );
    this.addSql(`alter table "candidate_message" add "gone_since" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "candidate_message" drop column "gone_since";`);
    this.addSql(`alter table "mirror_audit" drop column "collections_doubted";`);
    this.addSql(`alter table "sync_job" add "contacts_emptied_since" timestamptz null;`);
    this.addSql(`alter table "calendar" add "emptied_since" timestamptz null;`);
  }
}
