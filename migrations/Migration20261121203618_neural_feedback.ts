import { Migration } from '@mikro-orm/migrations';

export class Migration20261121203618_neural_feedback extends Migration {
  override name = 'Migration20261121203618_neural_feedback';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "neural_feedback" ("id" uuid not null, "account_id" uuid not null, "kind" text not null, "subject" text not null, "message_id" uuid null, "content" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "neural_feedback_message" on "neural_feedback" ("message_id");`);
    this.addSql(
      `alter table "neural_feedback" add constraint "neural_feedback_subject" unique ("account_id", "kind", "subject");`,
    );

    this.addSql(
      `alter table "neural_feedback" add constraint "neural_feedback_account_id_foreign" foreign key ("account_id") references "grant" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "neural_feedback" add constraint "neural_feedback_message_id_foreign" foreign key ("message_id") references "message" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "neural_feedback" add constraint "neural_feedback_kind_check" check ("kind" in ('sentiment', 'signature', 'ocr', 'categorize', 'conversation'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "neural_feedback" cascade;`);
  }
}
