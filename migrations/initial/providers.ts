/** Tables of `src/providers`: what the sandbox stores in place of a mail server. */
export const providers = `
  create table sandbox_address_book (
    application_id uuid not null,
    address text not null,
    modseq bigint not null,
    primary key (application_id, address)
  );

  create table sandbox_calendar (
    id uuid not null,
    application_id uuid not null,
    address text not null,
    is_primary boolean not null,
    data jsonb not null,
    primary key (id)
  );
  create index sandbox_calendar_mailbox on sandbox_calendar (application_id, address);

  create table sandbox_contact (
    id uuid not null,
    application_id uuid not null,
    address text not null,
    key text not null,
    data jsonb not null,
    picture bytea,
    deleted boolean default false not null,
    modseq bigint not null,
    primary key (id)
  );
  create index sandbox_contact_book on sandbox_contact (application_id, address, modseq);

  create table sandbox_event (
    id uuid not null,
    application_id uuid not null,
    address text not null,
    calendar_id uuid not null,
    data jsonb not null,
    primary key (id)
  );
  create index sandbox_event_calendar on sandbox_event (calendar_id);

  create table sandbox_fault (
    key text not null,
    count int not null,
    at timestamptz default now() not null,
    primary key (key)
  );

  create table sandbox_folder (
    id uuid not null,
    application_id uuid not null,
    address text not null,
    display_name text not null,
    primary key (id)
  );
  create unique index sandbox_folder_name on sandbox_folder (application_id, address,
    lower(display_name));

  create table sandbox_mailbox (
    application_id uuid not null,
    address text not null,
    modseq bigint not null,
    folders_modseq bigint default '0' not null,
    primary key (application_id, address)
  );

  create table sandbox_message (
    id uuid not null,
    application_id uuid not null,
    address text not null,
    folders text[] not null,
    mime bytea not null,
    received_at timestamptz not null,
    unread boolean not null,
    starred boolean not null,
    deleted boolean default false not null,
    added_modseq bigint not null,
    modseq bigint not null,
    primary key (id)
  );
  create index sandbox_message_mailbox on sandbox_message (application_id, address, modseq);
`;
