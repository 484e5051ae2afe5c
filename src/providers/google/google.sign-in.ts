import type { SignInDescriptor } from '../port/sign-in/sign-in-descriptor.ts';
import { GOOGLE_ONLY } from './google.oauth.ts';

/** Sign-in at Google. There is no form: accounts with an app password are those of IMAP. */
export const googleSignIn: SignInDescriptor = {
  order: 10,
  title: 'Google',
  hint: 'Gmail and Google Workspace',
  password: null,
  withoutIntegration: 'never',
  names: ['gmail'],
};

/**
 * See `Connector.nativeSettings`. An account that signed in by OAuth has settings that an account
 * with a password cannot have.
 */
export function googleNativeSettings(
  _name: string,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | null {
  const isOurs = GOOGLE_ONLY.some((key) => settings[key] !== undefined && settings[key] !== null);
  return isOurs ? settings : null;
}
