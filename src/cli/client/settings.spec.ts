import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { profilesFile, readProfiles, removeProfile, saveProfile } from './profiles.ts';
import { readSettings } from './settings.ts';

describe('settings of carillon-api', () => {
  let environment: Record<string, string>;

  beforeEach(() => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-profiles-'));
    fs.writeFileSync(path.join(folder, 'config.json'), '{}');
    environment = {
      XDG_CONFIG_HOME: folder,
      CARILLON_CONFIG_FILE: path.join(folder, 'config.json'),
    };
  });
  afterEach(() => fs.rmSync(environment['XDG_CONFIG_HOME'] ?? '', { recursive: true }));

  const work = { api_url: 'https://work.test', access_token: 'of-work' };

  it('stores profiles in a file that only its owner can read', () => {
    saveProfile(environment, 'work', work);
    saveProfile(environment, 'default', { access_token: 'of-default' });
    expect(fs.statSync(profilesFile(environment)).mode & 0o777).toBe(0o600);
    expect(readProfiles(environment)).toEqual({
      work,
      default: { access_token: 'of-default' },
    });
    removeProfile(environment, 'work');
    expect(Object.keys(readProfiles(environment))).toEqual(['default']);
    expect(() => removeProfile(environment, 'work')).toThrow('There is no profile work');
  });

  it('prefers the profile of the flag to the environment, and the environment to the default profile', () => {
    saveProfile(environment, 'work', work);
    saveProfile(environment, 'default', { api_url: 'https://d.test', access_token: 'of-default' });
    expect(readSettings({}, environment)).toMatchObject({
      apiUrl: 'https://d.test',
      accessToken: 'of-default',
    });
    expect(readSettings({}, { ...environment, CARILLON_PROFILE: 'work' })).toMatchObject({
      apiUrl: 'https://work.test',
      accessToken: 'of-work',
    });
    const variables = { CARILLON_ACCESS_TOKEN: 'of-variable', CARILLON_API_URL: 'https://v.test' };
    const both = { ...environment, ...variables };
    expect(readSettings({}, both)).toMatchObject({
      apiUrl: 'https://v.test',
      accessToken: 'of-variable',
    });
    expect(readSettings({ profile: 'work' }, both)).toMatchObject({
      apiUrl: 'https://work.test',
      accessToken: 'of-work',
    });
    expect(readSettings({ profile: 'work', access_token: 'of-flag' }, both)).toMatchObject({
      apiUrl: 'https://work.test',
      accessToken: 'of-flag',
    });
  });

  it('does not send the token of a profile to another address', () => {
    saveProfile(environment, 'default', work);
    const elsewhere = { ...environment, CARILLON_API_URL: 'https://else.test' };
    expect(() => readSettings({}, elsewhere)).toThrow('is not sent to https://else.test');
    const grants = { ...environment, CARILLON_INTEGRATIONS_URL: 'https://else.test' };
    expect(() => readSettings({}, grants)).toThrow('is not sent to https://else.test');
    expect(readSettings({ access_token: 'own' }, elsewhere)).toMatchObject({ accessToken: 'own' });
  });

  it('names the profiles that exist if there is none of the name', () => {
    saveProfile(environment, 'work', work);
    expect(() => readSettings({ profile: 'wrk' }, environment)).toThrow(
      'There is no profile wrk; there are: work.',
    );
  });
});
