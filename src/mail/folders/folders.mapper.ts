import type { OrganizationUnit } from '../../platform/auth/grant-status.ts';
import type { FolderRecord } from './folders.repository.ts';

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
