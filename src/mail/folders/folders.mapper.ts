import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { CreateFolder, UpdateFolder } from './folders.schema.ts';
import type { FolderChange } from './folders.service.ts';
import type { FolderRecord } from './folders.repository.ts';

/** The display name of a new folder. */
export function toDisplayName({ display_name: displayName, name }: CreateFolder): string {
  return displayName ?? name ?? '';
}

/** Converts the body of a change. Clients send an empty name for folders without one. */
export function toFolderChange({ display_name: displayName, name }: UpdateFolder): FolderChange {
  return { displayName: displayName ?? undefined, name: name || undefined };
}

/** @param jobStatusId job that carries the change to the provider; only after a write */
export function toFolderView<O extends OrganizationUnit>(
  object: O,
  folder: FolderRecord,
  jobStatusId?: string,
) {
  return {
    id: folder.id,
    object,
    account_id: folder.accountId,
    name: folder.name,
    display_name: folder.displayName,
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}
