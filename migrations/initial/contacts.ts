/** Tables of `src/contacts`: contacts and groups. */
export const contacts = `
  create table contact (
    id uuid not null,
    account_id uuid not null,
    source text not null,
    provider_id text,
    content jsonb not null,
    picture text,
    name_rank smallint default 0 not null,
    provider_content jsonb,
    provider_seen_at timestamptz,
    deleting boolean default false not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint contact_source_check check (source in ('address_book', 'inbox')),
    primary key (id),
    constraint contact_account_provider_id unique (account_id, source, provider_id),
    constraint contact_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );
  create index contact_count on contact (account_id) where (not deleting);
  create index contact_list on contact (account_id, id) where (not deleting);
  create index contact_source on contact (account_id, source, id) where (not deleting);

  create table contact_group (
    id uuid not null,
    account_id uuid not null,
    path text not null,
    created_at timestamptz not null,
    primary key (id),
    constraint contact_group_path unique (account_id, path),
    constraint contact_group_account_id_foreign
      foreign key (account_id) references "grant"(id) on delete cascade
  );

  create table contact_key (
    account_id uuid not null,
    field text not null,
    value text not null,
    contact_id uuid not null,
    source text not null,
    primary key (account_id, field, value, contact_id, source),
    constraint contact_key_contact_id_foreign
      foreign key (contact_id) references contact(id) on delete cascade
  );
  create index contact_key_contact on contact_key (contact_id);
`;
