/** Tables of `src/app`: keys and running processes. */
export const app = `
  create table running_process (
    id uuid not null,
    host text not null,
    pid int not null,
    roles text[] not null,
    sealing_key text not null,
    keys jsonb not null,
    started_at timestamptz not null,
    seen_at timestamptz not null,
    primary key (id)
  );

  create table sealing_key (
    id text not null,
    check_value text not null,
    created_at timestamptz not null,
    forgotten_at timestamptz,
    primary key (id)
  );
`;
