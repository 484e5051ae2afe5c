/** Tables of `src/sync`: watched mailboxes and failed syncs. */
export const sync = `
  create table mailbox_watch (
    account_id uuid not null,
    worker_id int,
    up_since timestamptz,
    retry_at timestamptz default now() not null,
    failures smallint default 0 not null,
    primary key (account_id),
    constraint mailbox_watch_account_id_foreign
      foreign key (account_id) references "grant"(id) on update cascade on delete cascade
  );
  create index mailbox_watch_free on mailbox_watch (retry_at) where (worker_id is null);
  create index mailbox_watch_worker on mailbox_watch (worker_id);

  create table sync_failure (
    account_id uuid not null,
    provider_id text not null,
    reason text not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    times int default 1 not null,
    retry_at timestamptz,
    primary key (account_id, provider_id),
    constraint sync_failure_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
`;
