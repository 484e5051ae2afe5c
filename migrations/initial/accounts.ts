/** Tables of `src/accounts`: applications, integrations, grants, tokens and writes to providers. */
export const accounts = `
  create table address_loop (
    id uuid not null,
    account_id uuid not null,
    application_id uuid not null,
    address text not null,
    code_hash bytea not null,
    sent_at timestamptz not null,
    failed boolean default false not null,
    primary key (id)
  );
  create index address_loop_account on address_loop (account_id, sent_at);
  create index address_loop_address on address_loop (address, sent_at);
  create index address_loop_application on address_loop (application_id, sent_at);
  create index address_loop_sent on address_loop (sent_at);

  create table application (
    id uuid not null,
    client_id text not null,
    name text not null,
    secret_hash bytea not null,
    secret_sealed text not null,
    plan text not null,
    features text[] not null,
    region text not null,
    icon_url text,
    redirect_uris text[] not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    allows_token_response boolean default false not null,
    allowed_scopes text[],
    token_lifetime int,
    revokes_older_tokens boolean default false not null,
    constraint application_plan_check check (plan in ('quickstart', 'standard')),
    primary key (id),
    constraint application_client_id_unique unique (client_id),
    constraint application_secret_hash_unique unique (secret_hash)
  );

  create table audit_total (
    kind text not null,
    audits bigint default '0' not null,
    compared bigint default '0' not null,
    missing bigint default '0' not null,
    surplus bigint default '0' not null,
    changed bigint default '0' not null,
    repaired bigint default '0' not null,
    skipped bigint default '0' not null,
    primary key (kind)
  );

  create table authorization_code (
    id uuid not null,
    application_id uuid not null,
    hash bytea not null,
    request_sealed text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (id),
    constraint authorization_code_hash_unique unique (hash),
    constraint authorization_code_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade
  );
  create index authorization_code_application on authorization_code (application_id);
  create index authorization_code_expiry on authorization_code (expires_at);

  create table integration (
    id uuid not null,
    application_id uuid not null,
    provider text not null,
    name text not null,
    settings jsonb not null,
    secret_settings_sealed text,
    redirect_uris text[] not null,
    expires_in int not null,
    scope text[],
    created_at timestamptz not null,
    updated_at timestamptz not null,
    require_proven_address boolean default false not null,
    primary key (id),
    constraint integration_application_provider unique (application_id, provider),
    constraint integration_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade
  );

  create table "grant" (
    id uuid not null,
    application_id uuid not null,
    integration_id uuid,
    provider text not null,
    email text not null,
    name text not null,
    status text not null,
    status_reason text,
    sync_state text not null,
    organization_unit text not null,
    billing_state text not null,
    metadata jsonb not null,
    scope text[],
    granted_scope text[],
    settings_sealed text not null,
    state text,
    user_agent text,
    ip text,
    linked_at timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    tokens_sealed text,
    token_version int default 0 not null,
    token_lease_until timestamptz,
    sync_reason text,
    mailbox text,
    proof text,
    proven_at timestamptz,
    prove_at timestamptz,
    prove_failures smallint default 0 not null,
    subject text,
    constraint grant_billing_state_check check (billing_state in ('paid', 'cancelled')),
    constraint grant_organization_unit_check check (organization_unit in ('folder', 'label')),
    constraint grant_proof_check
      check (proof in ('preset', 'discovery', 'oauth', 'integration', 'loop', 'sandbox')),
    constraint grant_status_check check (status in ('valid', 'invalid')),
    constraint grant_sync_state_check
      check (sync_state in ('initializing', 'downloading', 'running', 'partial', 'invalid',
      'stopped', 'sync-error')),
    primary key (id),
    constraint grant_application_provider_email_mailbox
      unique (application_id, provider, email, mailbox),
    constraint grant_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade,
    constraint grant_integration_id_foreign
      foreign key (integration_id) references integration(id) on delete set null
  );
  create index grant_integration on "grant" (integration_id);
  create index grant_prove_at on "grant" (prove_at) where (prove_at is not null);
  create index grant_provider_subject on "grant" (provider, subject) where (subject is not null);

  create table access_token (
    id uuid not null,
    grant_id uuid not null,
    hash bytea not null,
    created_at timestamptz not null,
    revoked_at timestamptz,
    expires_at timestamptz,
    scope text[],
    last_used_at timestamptz,
    primary key (id),
    constraint access_token_hash_unique unique (hash),
    constraint access_token_grant_id_foreign
      foreign key (grant_id) references "grant"(id) on delete cascade
  );
  create index access_token_expires on access_token (expires_at) where (expires_at is not null);
  create index access_token_grant on access_token (grant_id);
  create index access_token_revoked on access_token (revoked_at) where (revoked_at is not null);

  create table login_request (
    id uuid not null,
    application_id uuid not null,
    hash bytea not null,
    flow text not null,
    state text not null,
    reason text,
    provider text,
    redirect_uri text not null,
    response_type text not null,
    redirect_on_error boolean not null,
    client_state text,
    scope text[],
    metadata jsonb,
    login_hint text,
    grant_id uuid,
    settings_sealed text,
    pending_sealed text,
    browser_hash bytea,
    oauth_state_hash bytea,
    refusals smallint default 0 not null,
    expires_at timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint login_request_flow_check check (flow in ('connect', 'oauth')),
    constraint login_request_response_type_check check (response_type in ('code', 'token')),
    constraint login_request_state_check
      check (state in ('open', 'authenticated', 'finished', 'failed', 'cancelled')),
    primary key (id),
    constraint login_request_hash_unique unique (hash),
    constraint login_request_oauth_state_hash_unique unique (oauth_state_hash),
    constraint login_request_application_id_foreign
      foreign key (application_id) references application(id) on delete cascade
  );
  create index login_request_application on login_request (application_id);
  create index login_request_expiry on login_request (expires_at);

  create table mirror_audit (
    account_id uuid not null,
    recent_at timestamptz not null,
    full_at timestamptz not null,
    not_before timestamptz,
    round jsonb,
    counted jsonb not null,
    checked_at timestamptz,
    messages_checked int default 0 not null,
    differences_found int default 0 not null,
    repaired int default 0 not null,
    unrepaired int default 0 not null,
    failed int default 0 not null,
    collections_at timestamptz default now() not null,
    collections jsonb,
    events_checked int default 0 not null,
    events_repaired int default 0 not null,
    contacts_checked int default 0 not null,
    contacts_repaired int default 0 not null,
    missing int default 0 not null,
    surplus int default 0 not null,
    misplaced int default 0 not null,
    folders_skipped int default 0 not null,
    events_missing int default 0 not null,
    events_surplus int default 0 not null,
    events_changed int default 0 not null,
    events_skipped int default 0 not null,
    contacts_missing int default 0 not null,
    contacts_surplus int default 0 not null,
    contacts_changed int default 0 not null,
    contacts_skipped int default 0 not null,
    primary key (account_id),
    constraint mirror_audit_account_id_foreign
      foreign key (account_id) references "grant"(id) on update cascade on delete cascade
  );

  create table provider_job (
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
    action text not null,
    object_id uuid not null,
    payload jsonb not null,
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
  create index provider_job_account on provider_job (account_id);
  create index provider_job_busy on provider_job (account_id) where (state = 1);
  create index provider_job_due on provider_job (run_at) where (state = 0);
  create index provider_job_object on provider_job (object_id);

  create table push_pull (
    integration_id uuid not null,
    due_at timestamptz not null,
    fence int default 0 not null,
    failures smallint default 0 not null,
    error text,
    pulled_at timestamptz,
    primary key (integration_id),
    constraint push_pull_integration_id_foreign
      foreign key (integration_id) references integration(id) on update cascade on delete cascade
  );
  create index push_pull_due on push_pull (due_at);

  create table push_subscription (
    id uuid not null,
    account_id uuid not null,
    provider text not null,
    resource text not null,
    wanted boolean default true not null,
    provider_id text,
    secret_hash bytea,
    details jsonb,
    previous jsonb,
    expires_at timestamptz,
    renew_at timestamptz,
    credentials text,
    address text,
    due_at timestamptz not null,
    lease_until timestamptz,
    fence int default 0 not null,
    failures smallint default 0 not null,
    error text,
    unsupported boolean default false not null,
    notified_at timestamptz,
    primary key (id),
    constraint push_subscription_account_resource unique (account_id, resource),
    constraint push_subscription_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index push_subscription_due on push_subscription (due_at);
  create index push_subscription_provider on push_subscription (provider, provider_id);

  create table sync_job (
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
    cursor text,
    current_since timestamptz,
    again boolean default false not null,
    failures smallint default 0 not null,
    well_since timestamptz,
    reading text,
    calendars_at timestamptz,
    contacts_at timestamptz,
    contacts_cursor text,
    contacts_since timestamptz,
    primary key (id),
    constraint sync_job_account_id_unique unique (account_id),
    constraint sync_job_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  )
  with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 50000
  );
  create index sync_job_busy on sync_job (account_id) where (state = 1);
  create index sync_job_due on sync_job (run_at) where (state = 0);
`;
