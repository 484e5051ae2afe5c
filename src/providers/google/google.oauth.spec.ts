import type { IntegrationValues } from '../port/sign-in/integration-descriptor.ts';
import { googleIntegration, googleOauth } from './google.oauth.ts';

const google = googleOauth('https://accounts.google.com');
const AUTH = 'https://www.googleapis.com/auth/';
const KEY = {
  client_email: 'robot@project.test',
  private_key: '-----BEGIN PRIVATE KEY-----\n…',
  private_key_id: 'k1',
};
const integration: IntegrationValues = {
  settings: { client_id: 'id' },
  secrets: { client_secret: 'secret' },
};
const withKey: IntegrationValues = {
  settings: {},
  secrets: { service_account_json: JSON.stringify(KEY) },
};
const ada = { email: 'ada@example.test', scopes: null };
const source = { integration, own: null };

describe('the OAuth descriptor of Google', () => {
  it('asks for mail, calendars and contacts if no scopes are named, but not for rooms', () => {
    expect(google.scopesFor(null, source)).toEqual([
      'openid',
      'email',
      'profile',
      `${AUTH}gmail.modify`,
      `${AUTH}calendar`,
      `${AUTH}contacts`,
    ]);
  });

  it.each([
    [['email.send', 'email.drafts'] as const, ['gmail.compose']],
    [['email.metadata'] as const, ['gmail.metadata']],
    [['email.metadata', 'email.read_only'] as const, ['gmail.readonly']],
    [['email.folders_and_labels'] as const, ['gmail.modify']],
    [['calendar.free_busy', 'calendar'] as const, ['calendar']],
    [['room_resources.read_only'] as const, ['admin.directory.resource.calendar.readonly']],
  ])('asks for no more than %j needs', (scopes, needed) => {
    const asked = google.scopesFor(scopes, source).slice(3);
    expect(asked).toEqual(needed.map((name) => AUTH + name));
    expect(google.covered(asked)).toEqual(expect.arrayContaining([...scopes]));
  });

  it('asks for lasting access, for an account if none is known, and for consent only the second time', () => {
    const ask = { source, loginHint: null, again: false };
    expect(google.authorizationParameters(ask)).toEqual({
      access_type: 'offline',
      prompt: 'select_account',
    });
    const known = { ...ask, loginHint: 'ada@example.test' };
    expect(google.authorizationParameters(known)).toEqual({ access_type: 'offline' });
    expect(google.authorizationParameters({ ...known, again: true })).toMatchObject({
      prompt: 'consent',
    });
  });

  it('uses a refresh token with the client of the integration, or with another one that is kept', () => {
    expect(google.direct({ google_refresh_token: 'r' }, integration, ada)).toMatchObject({
      registration: { clientId: 'id' },
      credential: { kind: 'refresh-token', refreshToken: 'r' },
      own: null,
      ofIntegration: false,
    });
    const other = { google_client_id: 'other', google_client_secret: 'theirs' };
    const settings = { google_refresh_token: 'r', ...other };
    expect(google.direct(settings, null, ada)).toMatchObject({
      registration: { clientId: 'other', authentication: { secret: 'theirs' } },
      own: other,
    });
    expect(google.registration({ integration, own: other })?.clientId).toBe('other');
  });

  it('marks the service account of the integration, because it opens any mailbox', () => {
    const ours = google.direct({}, withKey, ada);
    expect(ours).toMatchObject({
      credential: { kind: 'jwt-bearer', subject: 'ada@example.test', issuer: KEY.client_email },
      own: { service_account: true },
      ofIntegration: true,
    });
    const theirs = google.direct({ service_account_json: KEY }, null, ada);
    expect(theirs).toMatchObject({ own: { service_account_json: KEY }, ofIntegration: false });
    const renewed = google.renewal(
      { integration: withKey, own: ours?.own ?? null },
      { email: ada.email, scopes: ['a', 'b'] },
    );
    expect(renewed).toMatchObject({ kind: 'jwt-bearer', scope: 'a b' });
    expect(google.renewal(source, { email: ada.email, scopes: [] })).toBeNull();
  });

  it.each([
    [{}, integration, 'settings.google_refresh_token is required'],
    [{ google_refresh_token: 'r' }, null, 'settings.google_client_id and'],
    [{ google_refresh_token: 'r', google_client_id: 'x' }, null, 'settings.google_client_secret'],
    [{ service_account_json: '{"client_email":1}' }, null, 'settings.service_account_json: must'],
  ])('refuses %j by the name of the setting', (settings, values, text) => {
    expect(() => google.direct(settings, values, ada)).toThrow(text);
  });

  it('registers a client, a service account, or both', () => {
    const problem = (settings: object, secrets: object) =>
      googleIntegration.problem({ settings, secrets } as IntegrationValues);
    expect(problem({ client_id: 'a' }, { client_secret: 'b' })).toBeNull();
    expect(problem(withKey.settings, withKey.secrets)).toBeNull();
    expect(problem({ client_id: 'a' }, withKey.secrets)).toEqual({
      missing: ['client_secret'],
      for: 'google',
    });
  });

  it('needs a topic for Pub/Sub, a service account to pull, and full names', () => {
    const problem = (settings: object, secrets: object) =>
      googleIntegration.problem({ settings, secrets } as IntegrationValues);
    const topic = { pubsub_topic: 'projects/p/topics/t' };
    const pulled = { pubsub_subscription: 'projects/p/subscriptions/s' };
    expect(problem(pulled, withKey.secrets)).toEqual({
      missing: ['pubsub_topic'],
      for: 'pubsub_subscription',
    });
    expect(problem({ ...topic, ...pulled, client_id: 'a' }, { client_secret: 'b' })).toEqual({
      missing: ['service_account_json'],
      for: 'pubsub_subscription',
    });
    expect(problem({ ...topic, ...pulled }, withKey.secrets)).toBeNull();
    const accepts = (settings: object) =>
      googleIntegration.settingsSchema.safeParse(settings).success;
    expect(accepts({ ...topic, ...pulled })).toBe(true);
    expect(accepts({ pubsub_topic: '', pubsub_subscription: null })).toBe(true);
    expect(accepts({ pubsub_topic: 'projects/p/subscriptions/s' })).toBe(false);
    expect(accepts({ pubsub_subscription: 's' })).toBe(false);
  });
});
