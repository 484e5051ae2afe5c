/** Tables of `src/mail`: messages, threads, folders, files, the outbox, search and tracking. */
export const mail = `
  create table audit_listing (
    account_id uuid not null,
    provider_id text not null,
    primary key (account_id, provider_id),
    constraint audit_listing_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );

  create table candidate_message (
    account_id uuid not null,
    provider_id text not null,
    looks smallint default 0 not null,
    primary key (account_id, provider_id),
    constraint candidate_message_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );

  create table file_data (
    id uuid not null,
    account_id uuid not null,
    primary key (id),
    constraint file_data_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index file_data_account on file_data (account_id);

  create table file_chunk (
    data_id uuid not null,
    no int not null,
    bytes bytea not null,
    primary key (data_id, no),
    constraint file_chunk_data_id_foreign
      foreign key (data_id) references file_data(id) on delete cascade
  );
  alter table file_chunk alter column bytes set storage external;

  create table folder (
    id uuid not null,
    account_id uuid not null,
    provider_id text,
    name text,
    display_name text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleting boolean default false not null,
    primary key (id),
    constraint folder_account_provider_id unique (account_id, provider_id),
    constraint folder_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );

  create table outbox_message (
    id uuid not null,
    account_id uuid not null,
    content jsonb not null,
    envelope jsonb not null,
    mime bytea not null,
    message_id_header text not null,
    accepted text[] default '{}' not null,
    refused jsonb default '[]' not null,
    on_missed text default 'send' not null,
    max_lateness_seconds int,
    on_unknown text,
    foreign_header boolean default false not null,
    bcc jsonb generated always as ((content -> 'bcc')) stored,
    draft jsonb generated always as ((content -> 'draft')) stored,
    stored_provider_id text,
    constraint outbox_message_on_missed_check check (on_missed in ('send', 'skip')),
    constraint outbox_message_on_unknown_check check (on_unknown in ('resend', 'fail')),
    primary key (id),
    constraint outbox_message_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index outbox_message_account on outbox_message (account_id, id);
  create index outbox_message_files on outbox_message using gin (((content -> 'file_ids')) jsonb_path_ops)
    where ((content -> 'file_ids') is not null);
  create index outbox_message_foreign_header on outbox_message (account_id, message_id_header)
    where foreign_header;
  create index outbox_message_stored_copy on outbox_message (account_id, stored_provider_id)
    where (stored_provider_id is not null);

  create table relay (
    application_id uuid not null,
    kind text not null,
    settings_sealed text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    last_error text,
    last_error_at timestamptz,
    primary key (application_id),
    constraint relay_application_id_foreign
      foreign key (application_id) references application(id) on update cascade on delete cascade
  );

  create table relay_sender (
    account_id uuid not null,
    domain_verified boolean not null,
    sender_verified boolean not null,
    detail text,
    checked_at timestamptz not null,
    removed_at timestamptz,
    primary key (account_id),
    constraint relay_sender_account_id_foreign
      foreign key (account_id) references "grant"(id) on update cascade on delete cascade
  );

  create table send_job (
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
    retry_limit_at timestamptz not null,
    route text default 'account' not null,
    failures smallint default 0 not null,
    look_ups smallint default 0 not null,
    put_off jsonb,
    held boolean default false not null,
    resend_attempt smallint,
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
  create index send_job_busy on send_job (account_id) where (state = 1);
  create index send_job_due on send_job (run_at) where (state = 0);

  create table text_backlog (
    account_id uuid not null,
    done_date timestamptz,
    done_id uuid,
    primary key (account_id),
    constraint text_backlog_account_id_foreign
      foreign key (account_id) references "grant"(id) on update cascade on delete cascade
  );

  create table thread (
    id uuid not null,
    account_id uuid not null,
    subject text not null,
    first_message_at timestamptz not null,
    last_message_at timestamptz not null,
    subject_key text,
    last_received_at timestamptz,
    last_sent_at timestamptz,
    message_count int default 0 not null,
    unread boolean default false not null,
    starred boolean default false not null,
    folder_ids uuid[] default '{}' not null,
    version int default 0 not null,
    updated_at timestamptz default now() not null,
    primary key (id),
    constraint thread_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index thread_account_exact_subject on thread (account_id, md5(subject), last_message_at,
    id);
  create index thread_account_last on thread (account_id, last_message_at, id, first_message_at,
    message_count)
    where (message_count > 0);
  create index thread_account_starred on thread (account_id, last_message_at, id)
    where ((message_count > 0) and starred);
  create index thread_account_subject on thread (account_id, subject_key)
    where (subject_key is not null);
  create index thread_account_unread on thread (account_id, last_message_at, id)
    where ((message_count > 0) and unread);
  create index thread_account_updated on thread (account_id, updated_at);
  create index thread_folders on thread using gin (folder_ids);

  create table message (
    id uuid not null,
    account_id uuid not null,
    provider_id text,
    thread_id uuid not null,
    subject text not null,
    snippet text not null,
    date timestamptz not null,
    from_addresses jsonb not null,
    to_addresses jsonb not null,
    cc_addresses jsonb not null,
    bcc_addresses jsonb not null,
    reply_to_addresses jsonb not null,
    participants text[] not null,
    unread boolean not null,
    starred boolean not null,
    has_attachments boolean not null,
    draft boolean not null,
    message_id_header text,
    in_reply_to text,
    reference_ids text[] not null,
    metadata jsonb not null,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    version int default 0 not null,
    reply_to_message_id uuid,
    deleting boolean default false not null,
    tracking jsonb,
    event_ids uuid[],
    listed boolean default false not null,
    primary key (id),
    constraint message_account_provider_id unique (account_id, provider_id),
    constraint message_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint message_thread_id_foreign
      foreign key (thread_id) references thread(id) on delete cascade
  );
  create index message_account_attachments on message (account_id, date, id)
    where (has_attachments and (not draft));
  create index message_account_date on message (account_id, date, id) where (not draft);
  create index message_account_drafts on message (account_id, date, id) where draft;
  create index message_account_header on message (account_id, message_id_header);
  create index message_account_listed on message (account_id, date, id) where listed;
  create index message_account_metadata on message (account_id, date, id)
    where (metadata <> '{}');
  create index message_account_starred on message (account_id, date, id)
    where (starred and (not draft));
  create index message_account_subject on message (account_id, md5(subject), date, id);
  create index message_account_unread on message (account_id, date, id)
    where (unread and (not draft));
  create index message_participants on message using gin (participants);
  create index message_thread on message (thread_id);
  create index message_thread_drafts on message (thread_id) where draft;

  create table draft_file (
    message_id uuid not null,
    "position" int not null,
    file_id uuid not null,
    filename text not null,
    content_type text not null,
    content_disposition text not null,
    content_id text,
    size int not null,
    data_id uuid,
    primary key (message_id, "position"),
    constraint draft_file_data_id_foreign
      foreign key (data_id) references file_data(id) on delete set null,
    constraint draft_file_message_id_foreign
      foreign key (message_id) references message(id) on delete cascade
  );
  create index draft_file_data on draft_file (data_id) where (data_id is not null);
  create index draft_file_file on draft_file (file_id);

  create table file (
    id uuid not null,
    account_id uuid not null,
    message_id uuid,
    part int not null,
    filename text not null,
    content_type text not null,
    content_disposition text not null,
    content_id text,
    size int not null,
    section text,
    data_id uuid,
    primary key (id),
    constraint file_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint file_data_id_foreign
      foreign key (data_id) references file_data(id) on delete set null,
    constraint file_message_id_foreign
      foreign key (message_id) references message(id) on delete cascade
  );
  create index file_account on file (account_id, id);
  create index file_account_filename on file (account_id, md5(filename), id);
  create index file_account_type on file (account_id, md5(lower(content_type)), id);
  create index file_account_upload on file (account_id) where (message_id is null);
  create index file_data_of on file (data_id) where (data_id is not null);
  create index file_message on file (message_id);
  create index file_upload on file (id) where (message_id is null);

  create table message_body (
    message_id uuid not null,
    body text not null,
    headers text,
    primary key (message_id),
    constraint message_body_message_id_foreign
      foreign key (message_id) references message(id) on update cascade on delete cascade
  );

  create table message_folder (
    message_id uuid not null,
    folder_id uuid not null,
    date timestamptz not null,
    primary key (message_id, folder_id),
    constraint message_folder_folder_id_foreign
      foreign key (folder_id) references folder(id) on update cascade on delete cascade,
    constraint message_folder_message_id_foreign
      foreign key (message_id) references message(id) on update cascade on delete cascade
  );
  create index message_folder_folder on message_folder (folder_id, date, message_id);

  create table message_search (
    message_id uuid not null,
    account_id uuid not null,
    date timestamptz not null,
    document tsvector not null,
    primary key (message_id),
    constraint message_search_message_id_foreign
      foreign key (message_id) references message(id) on update cascade on delete cascade
  );
  alter table message_search alter column document set storage external;
  create index message_search_document on message_search using gin (document) with (fastupdate = on, gin_pending_list_limit = 1024);

  create table neural_feedback (
    id uuid not null,
    account_id uuid not null,
    kind text not null,
    subject text not null,
    message_id uuid,
    content jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint neural_feedback_kind_check
      check (kind in ('sentiment', 'signature', 'ocr', 'categorize', 'conversation')),
    primary key (id),
    constraint neural_feedback_subject unique (account_id, kind, subject),
    constraint neural_feedback_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint neural_feedback_message_id_foreign
      foreign key (message_id) references message(id) on delete cascade
  );
  create index neural_feedback_message on neural_feedback (message_id);

  create table thread_person (
    thread_id uuid not null,
    person text not null,
    account_id uuid not null,
    messages int not null,
    primary key (thread_id, person),
    constraint thread_person_thread_id_foreign
      foreign key (thread_id) references thread(id) on delete cascade
  );
  create index thread_person_person on thread_person (account_id, person, thread_id, messages);

  create table thread_reference (
    account_id uuid not null,
    message_id_header text not null,
    thread_id uuid not null,
    primary key (account_id, message_id_header),
    constraint thread_reference_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint thread_reference_thread_id_foreign
      foreign key (thread_id) references thread(id) on delete cascade
  );
  create index thread_reference_thread on thread_reference (thread_id);

  create table thread_summary (
    thread_id uuid not null,
    people jsonb not null,
    message_ids uuid[] not null,
    snippet text not null,
    has_attachments boolean not null,
    length int not null,
    primary key (thread_id),
    constraint thread_summary_thread_id_foreign
      foreign key (thread_id) references thread(id) on update cascade on delete cascade
  );

  create table tracked_message (
    message_id uuid not null,
    account_id uuid not null,
    message_id_header text not null,
    opens boolean not null,
    links boolean not null,
    thread_replies boolean not null,
    payload text,
    urls text[] not null,
    open_count int default 0 not null,
    click_counts int[] default '{}' not null,
    recent_opens jsonb default '[]' not null,
    recent_clicks jsonb default '[]' not null,
    counted_from timestamptz not null,
    counted_until timestamptz not null,
    primary key (message_id),
    constraint tracked_message_account_header unique (account_id, message_id_header),
    constraint tracked_message_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index tracked_message_until on tracked_message (counted_until);

  create table vanished_message (
    message_id uuid not null,
    account_id uuid not null,
    vanished_at timestamptz not null,
    primary key (message_id),
    constraint vanished_message_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade,
    constraint vanished_message_message_id_foreign
      foreign key (message_id) references message(id) on update cascade on delete cascade
  );
  create index vanished_message_account on vanished_message (account_id);
`;
