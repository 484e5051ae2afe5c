import type { SignInDescriptor } from '../port/sign-in/sign-in-descriptor.ts';
import { MICROSOFT_ONLY } from './microsoft.oauth.ts';

/** Sign-in at Microsoft. There is no form: accounts without OAuth are those of IMAP. */
export const microsoftSignIn: SignInDescriptor = {
  order: 20,
  title: 'Microsoft',
  hint: 'Microsoft 365 and Outlook.com',
  password: null,
  withoutIntegration: 'never',
  names: ['outlook', 'hotmail', 'office365', 'graph'],
};

/**
 * See `Connector.nativeSettings`. An account that signed in by OAuth has settings that an account
 * with a password cannot have.
 */
export function microsoftNativeSettings(
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | null {
  const isOurs = MICROSOFT_ONLY.some(
    (key) => settings[key] !== undefined && settings[key] !== null,
  );
  return isOurs || name === 'graph' ? settings : null;
}
