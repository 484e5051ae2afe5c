import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';

/**
 * The account whose files are read, and the scopes of the reader. Without `scopes` the server
 * itself reads and may see every file.
 */
export type FileReader = Pick<AccountPrincipal, 'accountId'> &
  Partial<Pick<AccountPrincipal, 'scopes'>>;

/**
 * Files a reader may see. `all`: every file. `drafts`: uploads and files of drafts. `uploads`:
 * uploads that no draft uses.
 */
export type VisibleFiles = 'all' | 'drafts' | 'uploads';

/**
 * Which files the scopes allow. Attachments of received and sent mail need a scope that reads mail.
 */
export function visibleFilesOf({ scopes = null }: FileReader): VisibleFiles {
  if (allows(scopes, SCOPES_FOR.readMail)) return 'all';
  return allows(scopes, SCOPES_FOR.readDrafts) ? 'drafts' : 'uploads';
}
