import type { Database } from '../../platform/database/sql.ts';
import type { ProviderAccount, RemoteFolder } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Mailbox } from './sandbox.ids.ts';
import type { SandboxFolder } from './sandbox.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const FOLDERS: readonly RemoteFolder[] = [
  { providerId: 'inbox', name: 'inbox', displayName: 'Inbox' },
  { providerId: 'sent', name: 'sent', displayName: 'Sent' },
  { providerId: 'drafts', name: 'drafts', displayName: 'Drafts' },
  { providerId: 'trash', name: 'trash', displayName: 'Trash' },
  { providerId: 'spam', name: 'spam', displayName: 'Spam' },
  { providerId: 'archive', name: 'archive', displayName: 'Archive' },
];
const LABELS: readonly RemoteFolder[] = [
  ...FOLDERS.filter(({ name }) => name !== 'archive'),
  { providerId: 'all', name: 'all', displayName: 'All Mail' },
  { providerId: 'important', name: 'important', displayName: 'Important' },
];

export function standardFolders({ organizationUnit }: ProviderAccount): readonly RemoteFolder[] {
  return organizationUnit === 'label' ? LABELS : FOLDERS;
}

/**
 * Counts one change of the folders. Transactions that read the counter afterwards see the change.
 */
const COUNTED = `
  counter as (
    insert into sandbox_mailbox (application_id, address, modseq, folders_modseq) values ($1, $2, 1, 1)
    on conflict (application_id, address) do update
      set modseq = sandbox_mailbox.modseq + 1, folders_modseq = sandbox_mailbox.modseq + 1
    returning modseq)`;

// The `on conflict` branch returns the id of an existing folder.
const CREATE = `
  with ${COUNTED},
  created as (
    insert into sandbox_folder (id, application_id, address, display_name)
    select gen_random_uuid(), $1, $2, $3 from counter
    on conflict (application_id, address, lower(display_name)) do update set display_name = sandbox_folder.display_name
    returning id)
  select id from created`;

const RENAME = `
  with ${COUNTED},
  old as (select id, display_name as name from sandbox_folder where id = $3 and application_id = $1 and address = $2)
  update sandbox_folder f set display_name = $4 || substr(f.display_name, length(old.name) + 1)
  from old, counter
  where f.application_id = $1 and f.address = $2
    and (f.id = old.id or starts_with(f.display_name, old.name || '/'))
  returning f.id`;

// Each message gets its own number, because a page of changes may end between any two numbers.
const DELETE = `
  with gone as (
    delete from sandbox_folder where id = $3::uuid and application_id = $1 and address = $2 returning id::text),
  inside as (
    select m.id, row_number() over () as n, count(*) over () as total
    from sandbox_message m, gone
    where m.application_id = $1 and m.address = $2 and gone.id = any(m.folders) and not m.deleted),
  counter as (
    insert into sandbox_mailbox (application_id, address, modseq, folders_modseq)
    select $1, $2, count(*) + 1, count(*) + 1 from inside
    on conflict (application_id, address) do update
      set modseq = sandbox_mailbox.modseq + excluded.modseq, folders_modseq = sandbox_mailbox.modseq + excluded.modseq
    returning modseq)
  update sandbox_message m
  set folders = array_remove(m.folders, gone.id), modseq = counter.modseq - inside.total + inside.n
  from gone, inside, counter where m.id = inside.id`;

const OCCUPIED = `
  select 1 from sandbox_message where application_id = $1 and address = $2 and $3 = any(folders) and not deleted limit 1`;

const LIST = `
  select coalesce(b.folders_modseq, 0) as modseq, f.id, f.display_name as "displayName"
  from (select 1) one left join sandbox_mailbox b on b.application_id = $1 and b.address = $2
  left join sandbox_folder f on f.application_id = $1 and f.address = $2
  order by f.id`;

const UNIQUE_VIOLATION = '23505';

/** Folders and labels made by users, in the sandbox's own tables. */
export class SandboxFolders {
  constructor(private readonly database: Database) {}

  /** The folders made by users, and the counter value of their last change. */
  async list({
    applicationId,
    email,
  }: Mailbox): Promise<{ modseq: number; folders: RemoteFolder[] }> {
    const rows = await this.database.query<
      RowOf<SandboxFolder, 'displayName'> & { id: string | null; modseq: number }
    >(LIST, [applicationId, email]);
    return {
      modseq: rows[0]?.modseq ?? 0,
      folders: rows.flatMap(({ id, displayName }) =>
        id === null ? [] : [{ providerId: id, name: null, displayName }],
      ),
    };
  }

  /** @returns the id of the folder of that name, new or existing */
  async create({ applicationId, email }: Mailbox, displayName: string): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(CREATE, [
      applicationId,
      email,
      displayName,
    ]);
    if (!row) throw new Error('the folder was neither created nor found');
    return row.id;
  }

  /**
   * Renames a folder and the folders below it.
   * @throws {ProviderError} `not-found`; `conflict` if the name is taken
   */
  async rename({ applicationId, email }: Mailbox, id: string, displayName: string): Promise<void> {
    try {
      const rows = await this.database.query(RENAME, [applicationId, email, id, displayName]);
      if (rows.length === 0)
        throw new ProviderError('not-found', 'NO [NONEXISTENT] The mailbox does not exist');
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
      throw new ProviderError('conflict', 'NO [ALREADYEXISTS] A mailbox of that name exists', {
        cause: error,
      });
    }
  }

  /**
   * Deletes a folder or label. Its messages stay without it; folders are deleted only when they are
   * empty.
   */
  async delete({ applicationId, email }: Mailbox, id: string): Promise<void> {
    await this.database.query(DELETE, [applicationId, email, id]);
  }

  async isOccupied({ applicationId, email }: Mailbox, id: string): Promise<boolean> {
    return (await this.database.query(OCCUPIED, [applicationId, email, id])).length > 0;
  }
}
