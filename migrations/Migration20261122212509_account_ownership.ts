import { Migration } from '@mikro-orm/migrations';

export class Migration20261122212509_account_ownership extends Migration {
  override name = 'Migration20261122212509_account_ownership';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "integration" add "require_proven_address" boolean not null default false;`,
    );

    this.addSql(`alter table "send_job" add "held" boolean not null default false;`);

    this.addSql(`alter table "grant" drop constraint "grant_application_provider_email";`);
    this.addSql(
      `alter table "grant" add "mailbox" text null, add "proof" text null, add "proven_at" timestamptz null, add "prove_at" timestamptz null, add "prove_failures" smallint not null default 0;`,
    );
    this.addSql(`update "grant" set prove_at = now();`);
    this.addSql(
      `create index "grant_prove_at" on "grant" ("prove_at") where prove_at is not null;`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_application_provider_email_mailbox" unique ("application_id", "provider", "email", "mailbox");`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_proof_check" check ("proof" in ('preset', 'discovery', 'oauth', 'integration', 'loop', 'sandbox'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "grant_prove_at";`);
    this.addSql(`alter table "grant" drop constraint "grant_application_provider_email_mailbox";`);
    this.addSql(`alter table "grant" drop constraint "grant_proof_check";`);
    this.addSql(
      `alter table "grant" drop column "mailbox", drop column "proof", drop column "proven_at", drop column "prove_at", drop column "prove_failures";`,
    );
    this.addSql(
      `alter table "grant" add constraint "grant_application_provider_email" unique ("application_id", "provider", "email");`,
    );

    this.addSql(`alter table "send_job" drop column "held";`);

    this.addSql(`alter table "integration" drop column "require_proven_address";`);
  }
}
