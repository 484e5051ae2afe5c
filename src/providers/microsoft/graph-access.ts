import { type Scope, SCOPES } from '../../platform/auth/scopes.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { ProviderAccount } from '../port/connector.ts';
import type { GraphApi } from './graph-api.ts';
import { GraphError } from './graph-error.ts';

/** The parts of a mailbox: how their permissions and our scopes begin, and what opens them. */
const PARTS = [
  { permission: 'Mail.Read', scope: 'email', path: '/mailFolders/inbox' },
  { permission: 'Calendars.Read', scope: 'calendar', path: '/calendar' },
  { permission: 'Contacts.Read', scope: 'contacts', path: '/contactFolders' },
] as const;

/**
 * Proves that the token opens the account. If its permissions are known, one part that they cover
 * has to open. If they are not known, as for an application that acts by itself, every part is
 * tried. Of a shared mailbox the mail has to open: colleagues often share only a calendar.
 * @param permissions without the address of the API; `null` if they are not known
 * @returns the scopes without the parts that were refused; `null` if none was
 * @throws {ProviderError} `auth-invalid` if there is no such mailbox, or nothing of it opens
 */
export async function openMailbox(
  graph: GraphApi,
  account: ProviderAccount,
  permissions: readonly string[] | null,
  isShared: boolean,
): Promise<readonly Scope[] | null> {
  const has = ({ permission }: (typeof PARTS)[number]) =>
    permissions?.some((name) => name.startsWith(permission));
  const allowed = permissions ? PARTS.filter(has).slice(0, 1) : PARTS;
  const asked = isShared ? PARTS.slice(0, 1) : allowed;
  const refused: { scope: string; error: GraphError }[] = [];
  for (const { path, scope } of asked) {
    const error = await refusalOf(graph, account, path);
    if (error?.isWithoutConsent) refused.push({ scope, error });
    else if (error) throw authInvalid(error);
  }
  const [first] = refused;
  if (refused.length === asked.length) {
    if (first) throw authInvalid(first.error);
    throw new ProviderError(
      'auth-invalid',
      `Microsoft: the token opens no part of the mailbox ${account.email}: it has none of the permissions for mail, calendars and contacts`,
    );
  }
  const isCovered = (name: Scope) => !refused.some(({ scope }) => name.startsWith(scope));
  return first ? SCOPES.filter(isCovered) : null;
}

async function refusalOf(
  graph: GraphApi,
  account: ProviderAccount,
  path: string,
): Promise<GraphError | null> {
  const request = { method: 'GET', path, query: { $select: 'id' } } as const;
  try {
    await graph.send(account, { ...request, priority: 'interactive' });
    return null;
  } catch (error) {
    const isRefused = error instanceof GraphError && ['rejected', 'not-found'].includes(error.code);
    if (isRefused) return error;
    throw error;
  }
}

const authInvalid = (cause: GraphError) =>
  new ProviderError('auth-invalid', cause.message, { cause });
