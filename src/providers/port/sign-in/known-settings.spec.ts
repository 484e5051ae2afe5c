import { z } from 'zod';
import type { OauthDescriptor } from './oauth-descriptor.ts';
import { knownSettings, settingsOfSignIn, unknownSettings } from './known-settings.ts';

const settingsSchema = z.object({
  host: z.string(),
  proxy: z.object({ port: z.number() }).optional(),
  routes: z.array(z.object({ to: z.string() })).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

describe('settings that a connector does not have', () => {
  it('are found with their path, also within other settings', () => {
    const given = {
      hots: 'x',
      proxy: { prot: 1 },
      routes: [{ to: 'x' }, { too: 'x' }],
      labels: { any: 'name' },
    };
    const found = unknownSettings(given, knownSettings({ settingsSchema }, ['email']));
    expect(found).toEqual([
      {
        place: ['settings'],
        name: 'hots',
        known: expect.arrayContaining(['host', 'email']) as string[],
      },
      { place: ['settings', 'proxy'], name: 'prot', known: ['port'] },
      { place: ['settings', 'routes', '1'], name: 'too', known: ['to'] },
    ]);
  });

  it('include all settings of the account if the sign-in takes them from the integration', () => {
    const names = { signInSettings: ['refresh_token'], hasOnlySignInSettings: true };
    const connector = { settingsSchema, oauth: names as unknown as OauthDescriptor };
    const namesOf = (given: object) => [...settingsOfSignIn(connector, { ...given }, []).keys()];
    expect(namesOf({ host: 'x' })).toEqual(['host', 'proxy', 'routes', 'labels', 'refresh_token']);
    expect(namesOf({ host: 'x', refresh_token: 'x' })).toEqual(['refresh_token']);
  });
});
