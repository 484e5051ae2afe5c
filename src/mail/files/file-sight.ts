import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';

/** Whose files are meant, and by whom; without `scopes` the server itself, which may read all of them. */
export type FileReader = Pick<AccountPrincipal, 'accountId'> &
  Partial<Pick<AccountPrincipal, 'scopes'>>;

/** Files somebody may know of: all, uploads and what drafts carry, or uploads that no draft carries. */
export type FileSight = 'all' | 'drafts' | 'uploads';

/** What files the scopes let somebody see: attachments of received and sent mail need a scope to read mail. */
export function sightOf({ scopes = null }: FileReader): FileSight {
  if (allows(scopes, SCOPES_FOR.readMail)) return 'all';
  return allows(scopes, SCOPES_FOR.readDrafts) ? 'drafts' : 'uploads';
}
