/** Tables of `src/job-statuses`: jobs and their attempts. */
export const jobStatuses = `
  create table job_status (
    id uuid not null,
    account_id uuid not null,
    action text not null,
    object text not null,
    object_id uuid,
    status text not null,
    reason text,
    send_at timestamptz,
    original_send_at timestamptz,
    retry_limit_at timestamptz,
    message_id uuid,
    thread_id uuid,
    version int default 1 not null,
    created_at timestamptz default now() not null,
    updated_at timestamptz default now() not null,
    route text,
    constraint job_status_reason
      check (((reason is not null) = status in ('delayed', 'failed', 'cancelled'))),
    constraint job_status_status_check
      check (status in ('pending', 'delayed', 'successful', 'failed', 'cancelled')),
    primary key (id),
    constraint job_status_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  ) with (fillfactor = 50);
  create index job_status_list on job_status (account_id, id);

  create table job_attempt (
    id uuid not null,
    job_id uuid not null,
    attempt smallint not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    outcome text not null,
    phase text,
    code text,
    detail text,
    next_at timestamptz,
    rule text,
    route text,
    primary key (id),
    constraint job_attempt_job_id_foreign
      foreign key (job_id) references job_status(id) on delete cascade
  );
  create index job_attempt_job on job_attempt (job_id, id);
`;
