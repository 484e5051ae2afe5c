import type { Overview } from '../../../overview/overview.ts';
import type { Concern } from './concern.ts';

const LINK: Concern['link'] = { path: '/console/operators', label: 'Operators' };

/** Nobody can sign in with full rights, for example because the identity provider took a role. */
export function accessConcerns({ missingAccess }: Overview): Concern[] {
  if (missingAccess === null) return [];
  const text =
    'Give a user the role at the OpenID Connect provider, or on the server: carillon operator create <name> --role operate --password.';
  if (missingAccess === 'none')
    return [{ tone: 'bad', title: 'No enabled operator has the role operate', text, link: LINK }];
  return [
    {
      tone: 'warning',
      title: 'No operator with the role operate can sign in without a link',
      text: `None of them has a password, or has signed in by OpenID Connect within 30 days. If you have the role, choose a password: Your password in the menu. ${text}`,
      link: LINK,
    },
  ];
}
