import type { StubUser } from '../directory/directory.ts';
import type { Json } from '../http/types.ts';
import type { GraphContext, GraphRoute } from './context.ts';
import { selected } from './odata.ts';

/** Routes of the user itself. */
export const userRoutes: GraphRoute[] = [
  {
    method: 'GET',
    path: '',
    permissions: ['User.Read', 'User.ReadBasic.All', 'User.Read.All', 'User.ReadWrite'],
    handle: ({ user, request }: GraphContext) => ({
      status: 200,
      body: selected(userJson(user), request.query),
    }),
  },
  {
    method: 'GET',
    path: 'mailboxSettings',
    permissions: ['MailboxSettings.Read', 'MailboxSettings.ReadWrite'],
    handle: ({ request }: GraphContext) => ({
      status: 200,
      body: selected({ timeZone: 'UTC', language: { locale: 'en-US' } }, request.query),
    }),
  },
];

function userJson(user: StubUser): Json {
  return {
    '@odata.type': '#microsoft.graph.user',
    id: user.id,
    displayName: user.displayName,
    mail: user.email,
    userPrincipalName: user.email,
    givenName: user.displayName.split(' ')[0] ?? null,
    surname: user.displayName.split(' ')[1] ?? null,
  };
}
