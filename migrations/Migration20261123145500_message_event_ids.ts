import { Migration } from '@mikro-orm/migrations';

export class Migration20261123145500_message_event_ids extends Migration {
  override name = 'Migration20261123145500_message_event_ids';

  override up(): void | Promise<void> {
    this.addSql(`alter table "message" add "event_ids" uuid[] null;`);
    // Only mail with an invitation, of which there is little.
    this.addSql(
      `update "message" m set "event_ids" = x.ids from (select message_id, (array_agg(id order by starts_at, id))[1:25] as ids from "event" where message_id is not null group by message_id) x where m.id = x.message_id;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "message" drop column "event_ids";`);
  }
}
