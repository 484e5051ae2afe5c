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

/** What a token opens. */
export interface Access {
  /** Whether a part of the mailbox was opened; false if the token is for none. */
  isOpened: boolean;
  /** The scopes without the parts that were refused; `null` if none was. */
  covered: readonly Scope[] | null;
}

/**
 * Opens what the token of an account covers: one part of those whose permissions it has, or every
 * part if its permissions are not known, as those of an application that acts by itself.
 * @param permissions without the address of the API; `null` if they are not known
 * @throws {ProviderError} `auth-invalid` if there is no such mailbox, or everything is refused
 */
export async function openMailbox(
  graph: GraphApi,
  account: ProviderAccount,
  permissions: readonly string[] | null,
): Promise<Access> {
  const has = ({ permission }: (typeof PARTS)[number]) =>
    permissions?.some((name) => name.startsWith(permission));
  const asked = permissions ? PARTS.filter(has).slice(0, 1) : PARTS;
  const refused: { scope: string; error: GraphError }[] = [];
  for (const { path, scope } of asked) {
    const error = await refusalOf(graph, account, path);
    if (error?.isWithoutConsent) refused.push({ scope, error });
    else if (error) throw authInvalid(error);
  }
  const [first] = refused;
  if (first && refused.length === asked.length) throw authInvalid(first.error);
  const isCovered = (name: Scope) => !refused.some(({ scope }) => name.startsWith(scope));
  return { isOpened: asked.length > 0, covered: first ? SCOPES.filter(isCovered) : null };
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
