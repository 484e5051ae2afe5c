/** Tables of `src/platform`: change log, webhooks, queues, budgets and idempotency keys. */
export const platform = `
  create table account_gate (
    account_id uuid not null,
    next_slot timestamptz default '-infinity' not null,
    slot_ms int default 50 not null,
    max_in_flight smallint default 8 not null,
    closed_until timestamptz,
    failures smallint default 0 not null,
    close_reason text,
    primary key (account_id)
  ) with (fillfactor = 50);

  create table change (
    seq bigserial,
    account_id uuid not null,
    object text not null,
    object_id uuid not null,
    event text not null,
    at timestamptz default now() not null,
    primary key (account_id, seq)
  );
  create index change_at on change (at);

  create table change_pruned (
    account_id uuid not null,
    object text not null,
    seq bigint not null,
    primary key (account_id, object),
    constraint change_pruned_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );

  create table failed_attempt (
    key bytea not null,
    failures int not null,
    ends_at timestamptz not null,
    primary key (key)
  );
  create index failed_attempt_ends on failed_attempt (ends_at);

  create table hook_job (
    id uuid not null,
    run_at timestamptz not null,
    due_at timestamptz not null,
    handoff_at timestamptz,
    fence int default 0 not null,
    worker_id int,
    shard smallint default 0 not null,
    state smallint default 0 not null,
    attempt smallint default 0 not null,
    ambiguous boolean default false not null,
    crashes smallint default 0 not null,
    event_id uuid not null,
    webhook_id uuid not null,
    give_up_at timestamptz not null,
    primary key (id),
    constraint hook_job_webhook_event unique (webhook_id, event_id)
  )
  with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 50000
  );
  create index hook_job_busy on hook_job (webhook_id) where (state = 1);
  create index hook_job_due on hook_job (run_at) where (state = 0);

  create table idempotency_key (
    account_id uuid not null,
    key text not null,
    fingerprint bytea not null,
    status smallint,
    response jsonb,
    created_at timestamptz not null,
    primary key (account_id, key),
    constraint idempotency_key_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index idempotency_key_created on idempotency_key (created_at);

  create table instance (
    id smallint not null,
    place jsonb not null,
    confirmed_at timestamptz not null,
    constraint instance_one check ((id = 1)),
    primary key (id)
  );

  create table provider_bucket (
    key text not null,
    tokens double precision not null,
    refilled_at timestamptz not null,
    blocked_until timestamptz,
    full_at timestamptz not null,
    primary key (key)
  ) with (fillfactor = 50);

  create table quota_use (
    id uuid not null,
    quota text not null,
    per text not null,
    owner_id uuid not null,
    day date not null,
    used int default 0 not null,
    alerted_at timestamptz,
    constraint quota_use_per_check check (per in ('account', 'application')),
    constraint quota_use_quota_check check (quota in ('sms', 'reminders', 'meetings')),
    primary key (id),
    constraint quota_use_once unique (owner_id, quota, day)
  );
  create index quota_use_day on quota_use (day);

  create table webhook (
    id uuid not null,
    application_id uuid not null,
    callback_url text not null,
    state text not null,
    triggers text[] not null,
    subscribed_at timestamptz not null,
    failing_since timestamptz,
    failures int default 0 not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint webhook_state_check check (state in ('active', 'inactive', 'failing', 'failed')),
    primary key (id),
    constraint webhook_application_callback_url unique (application_id, callback_url),
    constraint webhook_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade
  );

  create table webhook_attempt (
    id uuid not null,
    webhook_id uuid not null,
    event_id uuid not null,
    attempt smallint not null,
    started_at timestamptz not null,
    took_ms int not null,
    http_status smallint,
    outcome text not null,
    detail text,
    next_at timestamptz,
    primary key (id)
  );
  create index webhook_attempt_webhook on webhook_attempt (webhook_id, id);

  create table webhook_event (
    id uuid not null,
    application_id uuid not null,
    type text not null,
    body bytea not null,
    dedupe text not null,
    created_at timestamptz default now() not null,
    primary key (id),
    constraint webhook_event_dedupe_unique unique (dedupe)
  );
  create index webhook_event_application on webhook_event (application_id, id);

  create table worker (
    id serial,
    host text not null,
    pid int not null,
    started_at timestamptz default now() not null,
    seen_at timestamptz default now() not null,
    primary key (id)
  ) with (fillfactor = 50);
`;
