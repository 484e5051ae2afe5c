import { z } from 'zod';
import type { OauthDescriptor } from '../../../providers/port/sign-in/oauth-descriptor.ts';
import { assertEffective } from './settings-change.ts';

const settingsSchema = z.object({ host: z.string(), port: z.number() });
const names = { signInSettings: ['refresh_token'], hasOnlySignInSettings: true };
const connector = { settingsSchema, oauth: names as unknown as OauthDescriptor };
const ada = { email: 'ada@example.test', name: 'Ada' };
const shown = { host: 'mx.example.test', port: 993 };

const change = (settings: Record<string, unknown>) => () =>
  assertEffective(settings, ada, connector, shown);

describe('a change of settings', () => {
  it('may repeat what is read only when the account is connected', () => {
    const repeated = { email: 'Ada@Example.test', username: 'ada@example.test', name: 'Ada' };
    expect(change({ ...repeated, email_address: null, host: 'other.example.test' })).not.toThrow();
  });

  it('is refused if it would change what is read only then', () => {
    expect(change({ email: 'bo@example.test' })).toThrow(
      'settings.email: cannot be changed: the account has ada@example.test',
    );
    expect(change({ name: 'Bo' })).toThrow('settings.name: cannot be changed');
  });

  it('is refused with a refresh token and a server that the integration does not have', () => {
    expect(change({ refresh_token: 'r', host: 'mx.example.test', port: '993' })).not.toThrow();
    expect(change({ refresh_token: 'r', host: 'other.example.test' })).toThrow(
      'settings.host: cannot be changed: the account signs in by OAuth',
    );
  });

  it('is refused with an unknown setting and the nearest known one', () => {
    expect(change({ hots: 'x' })).toThrow('settings: must not contain hots (did you mean host?)');
    expect(change({ toString: 1 })).toThrow('settings: must not contain toString');
  });
});
