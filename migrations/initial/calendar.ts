/** Tables of `src/calendar`: calendars, events, invitations, meetings and reminders. */
export const calendar = `
  create table calendar (
    id uuid not null,
    account_id uuid not null,
    provider_id text,
    name text not null,
    description text,
    location text,
    timezone text,
    hex_color text,
    is_primary boolean not null,
    read_only boolean not null,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    event_cursor text,
    events_since timestamptz,
    is_emailed boolean default false not null,
    deleting boolean default false not null,
    primary key (id),
    constraint calendar_account_provider_id unique (account_id, provider_id),
    constraint calendar_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create unique index calendar_emailed on calendar (account_id) where is_emailed;

  create table calendar_feed (
    id uuid not null,
    account_id uuid not null,
    calendar_id uuid not null,
    hash bytea not null,
    created_at timestamptz default now() not null,
    primary key (id),
    constraint calendar_feed_calendar unique (calendar_id),
    constraint calendar_feed_hash unique (hash),
    constraint calendar_feed_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint calendar_feed_calendar_id_foreign
      foreign key (calendar_id) references calendar(id) on delete cascade
  );
  create index calendar_feed_account on calendar_feed (account_id);

  create table conferencing_service (
    id uuid not null,
    application_id uuid not null,
    provider text not null,
    kind text not null,
    settings_sealed text not null,
    last_error text,
    last_error_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id),
    constraint conferencing_service_provider unique (application_id, provider),
    constraint conferencing_service_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade
  );

  create table event (
    id uuid not null,
    account_id uuid not null,
    calendar_id uuid not null,
    provider_id text,
    ical_uid text,
    title text not null,
    description text not null,
    location text not null,
    when_value jsonb not null,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    busy boolean not null,
    read_only boolean not null,
    status text not null,
    visibility text,
    hide_participants boolean not null,
    participants jsonb not null,
    organizer_email text,
    organizer_name text,
    recurrence jsonb,
    conferencing jsonb,
    reminders jsonb,
    notifications jsonb not null,
    metadata jsonb not null,
    customer_event_id text,
    event_collection_id text,
    capacity int,
    round_robin_order text[] not null,
    version int default 1 not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    master_provider_id text,
    master_event_id uuid,
    original_start timestamptz,
    provider_content jsonb,
    provider_version int,
    provider_seen_at timestamptz,
    sequence int default 0 not null,
    message_id uuid,
    released boolean default false not null,
    autocreate jsonb,
    constraint event_status_check check (status in ('confirmed', 'tentative', 'cancelled')),
    primary key (id),
    constraint event_account_provider_id unique (account_id, provider_id),
    constraint event_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint event_calendar_id_foreign
      foreign key (calendar_id) references calendar(id) on delete cascade
  );
  create index event_account_start on event (account_id, starts_at, id);
  create index event_calendar_start on event (calendar_id, starts_at);
  create index event_collection on event (account_id, event_collection_id)
    where (event_collection_id is not null);
  create index event_ical_uid on event using hash (ical_uid);
  create unique index event_instance on event (master_event_id, original_start)
    where ((master_event_id is not null) and (not released));
  create index event_instances on event (master_event_id) where (master_event_id is not null);
  create index event_long on event (calendar_id, ends_at)
    where ((ends_at - starts_at) > '7 days');
  create index event_series on event (account_id, starts_at) where (recurrence is not null);
  create index event_series_last_day on event (calendar_id,
    coalesce("substring"((recurrence ->> 'rrule'), '(?i)^(?!.*RRULE:.*RRULE:).*UNTIL=(\\d{8})'),
      '99999999'))
    where ((recurrence is not null) and busy and (status <> 'cancelled') and (ends_at > starts_at)
    and ((ends_at - starts_at) <= '7 days'));
  create index event_time_taken on event (calendar_id, starts_at) include (ends_at, status)
    where ((recurrence is null) and busy and (status <> 'cancelled') and (ends_at > starts_at)
    and ((ends_at - starts_at) <= '7 days')
    and (not ((participants @> '[{"status": "no"}]') or (participants @> '[{"status": "maybe"}]')
    or (coalesce(capacity, 0) > 0))));
  create index event_time_taken_perhaps on event (calendar_id, starts_at)
    where ((recurrence is null) and busy and (status <> 'cancelled') and (ends_at > starts_at)
    and ((ends_at - starts_at) <= '7 days')
    and ((participants @> '[{"status": "no"}]') or (participants @> '[{"status": "maybe"}]')
    or (coalesce(capacity, 0) > 0)));

  create table event_meeting (
    id uuid not null,
    account_id uuid not null,
    event_id uuid not null,
    provider text not null,
    kind text not null,
    key text not null,
    asked_at timestamptz not null,
    remote_id text,
    details jsonb,
    written jsonb,
    event_version int,
    released boolean default false not null,
    due_at timestamptz,
    attempts smallint default 0 not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (id),
    constraint event_meeting_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index event_meeting_account on event_meeting (account_id);
  create index event_meeting_due on event_meeting (due_at) where (due_at is not null);
  create unique index event_meeting_event on event_meeting (event_id) where (not released);

  create table invitation (
    id uuid not null,
    account_id uuid not null,
    event_id uuid not null,
    write_id uuid not null,
    kind text not null,
    sequence int not null,
    recipients jsonb not null,
    content jsonb,
    released_at timestamptz,
    created_at timestamptz default now() not null,
    constraint invitation_kind_check check (kind in ('invite', 'update', 'cancel')),
    primary key (id),
    constraint invitation_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint invitation_event_id_foreign
      foreign key (event_id) references event(id) on delete cascade
  );
  create index invitation_account on invitation (account_id);
  create index invitation_event on invitation (event_id, id);

  create table meeting_state (
    account_id uuid not null,
    key text not null,
    instance text not null,
    event_id uuid,
    sender text,
    trusted boolean not null,
    sequence int not null,
    stamp double precision,
    cancelled boolean not null,
    replies jsonb not null,
    reply_job_id uuid,
    primary key (account_id, key, instance),
    constraint meeting_state_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint meeting_state_event_id_foreign
      foreign key (event_id) references event(id) on delete cascade
  );
  create index meeting_state_event on meeting_state (event_id);

  create table reminder (
    id uuid not null,
    account_id uuid not null,
    event_id uuid not null,
    notification_id uuid not null,
    participant text not null,
    type text not null,
    recipient text not null,
    name text not null,
    due_at timestamptz not null,
    expires_at timestamptz not null,
    status text not null,
    reason text,
    attempts smallint default 0 not null,
    message_id_header text,
    sent_at timestamptz,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    charged_at timestamptz,
    constraint reminder_reason check (((reason is not null) or status in ('scheduled', 'sent'))),
    constraint reminder_status_check
      check (status in ('scheduled', 'sent', 'failed', 'skipped', 'cancelled')),
    constraint reminder_type_check check (type in ('email', 'sms', 'webhook')),
    primary key (id),
    constraint reminder_once unique (event_id, notification_id, participant, due_at),
    constraint reminder_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index reminder_account on reminder (account_id);

  create table reminder_content (
    event_id uuid not null,
    notification_id uuid not null,
    account_id uuid not null,
    content jsonb not null,
    primary key (event_id, notification_id),
    constraint reminder_content_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index reminder_content_account on reminder_content (account_id);

  create table reminder_job (
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
    account_id uuid not null,
    primary key (id)
  )
  with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 50000
  );
  create index reminder_job_busy on reminder_job (account_id) where (state = 1);
  create index reminder_job_due on reminder_job (run_at) where (state = 0);

  create table sms_message (
    id uuid not null,
    account_id uuid not null,
    phone_number text not null,
    text text not null,
    dedupe text not null,
    created_at timestamptz default now() not null,
    primary key (id),
    constraint sms_message_dedupe_unique unique (dedupe)
  );
`;
