import { z } from 'zod';
import { ConnectionChecks } from '../../../platform/egress/connection-checks.ts';
import { DomainError } from '../../../platform/base/errors/domain-error.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type { Connector, ProviderAccount } from '../../../providers/port/connector.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../../platform/base/errors/provider-error.ts';
import type { AddressProofs } from '../proofs/address-proofs.ts';
import { CredentialCheck } from './credential-check.ts';
import type { OauthCredentials } from './oauth-credentials.ts';

type Verify = Connector['verify'];

/** No account in these tests signs in by OAuth. */
const passing: Pick<OauthCredentials, 'complete'> = {
  complete: async (_, credentials) => credentials,
};
const proofs: Pick<AddressProofs, 'atSignIn'> = { atSignIn: async (_, { proof }) => proof };
const checks = new ConnectionChecks({
  perProcess: 9,
  perApplication: 9,
  perAddress: 9,
  perHost: 9,
});
const check = (verify: Verify) =>
  new CredentialCheck(
    new ConnectorRegistry([
      {
        name: 'imap',
        settingsSchema: z.object({ host: z.string(), port: z.number().default(993) }),
        verify,
      },
    ]),
    checks,
    passing,
    proofs,
  );
const ada = {
  provider: 'imap',
  email: 'Ada@Example.test',
  name: 'Ada',
  settings: { host: 'mx', extra: 1 },
};
const accepts: Verify = async ({ email, name }) => ({ email, name, organizationUnit: 'label' });
const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: unknown) => error);

describe('CredentialCheck.verify', () => {
  it('passes the parsed settings to the connector and returns what the provider reports', async () => {
    const seen: Omit<ProviderAccount, 'accountId'>[] = [];
    const verified = await check((account) => {
      seen.push(account);
      return accepts(account);
    }).verify('app', ada);
    expect(seen).toEqual([
      {
        applicationId: 'app',
        email: 'ada@example.test',
        name: 'Ada',
        organizationUnit: 'folder',
        settings: { host: 'mx', port: 993 },
      },
    ]);
    expect(verified).toEqual({
      covered: null,
      provider: 'imap',
      email: 'ada@example.test',
      name: 'Ada',
      organizationUnit: 'label',
      settings: { host: 'mx', port: 993 },
      proof: null,
      subject: null,
    });
  });

  it('counts the search for a proof of the address as part of the check', async () => {
    const single = new ConnectionChecks({
      perProcess: 1,
      perApplication: 9,
      perAddress: 9,
      perHost: 9,
    });
    const imap: Connector = {
      name: 'imap',
      settingsSchema: z.object({ host: z.string() }),
      verify: accepts,
    };
    let meanwhile: unknown;
    const searching: Pick<AddressProofs, 'atSignIn'> = {
      atSignIn: async () => {
        meanwhile = await refusal(single.run({ applicationId: 'other' }, async () => undefined));
        return null;
      },
    };
    await new CredentialCheck(new ConnectorRegistry([imap]), single, passing, searching).verify(
      'app',
      ada,
    );
    expect(meanwhile).toMatchObject({ kind: 'rate-limited' });
  });

  it('returns the settings that the provider has completed', async () => {
    const verified = await check(async (account) => ({
      ...(await accepts(account)),
      settings: { ...account.settings, found: true },
    })).verify('app', ada);
    expect(verified.settings).toEqual({ host: 'mx', port: 993, found: true });
  });

  it('passes on the access token of a sign-in and keeps it out of the settings', async () => {
    const seen: (string | undefined)[] = [];
    const tokens = {
      accessToken: 'token',
      refreshToken: 'refresh',
      obtainedAt: 0,
      expiresAt: null,
    };
    const verified = await check(async (account) => {
      seen.push(account.accessToken);
      return accepts(account);
    }).verify('app', { ...ada, tokens });
    expect(seen).toEqual(['token']);
    expect(verified.tokens).toEqual(tokens);
    expect(JSON.stringify(verified.settings)).not.toContain('token');
  });

  it('takes the address from the provider if the provider reports another one', async () => {
    const verified = await check(async () => ({
      email: 'Real@Example.test',
      name: 'R',
      organizationUnit: 'folder',
    })).verify('app', { ...ada, email: '' });
    expect(verified.email).toBe('real@example.test');
  });

  it('refuses an account if neither the request nor the provider names the address', async () => {
    const error = await refusal(check(accepts).verify('app', { ...ada, email: '' }));
    expect(error).toMatchObject({
      kind: 'invalid',
      details: { missingFields: ['settings.email'] },
    });
  });

  it('names wrong settings and does not ask the provider', async () => {
    const error = await refusal(
      check(() => {
        throw new Error('asked');
      }).verify('app', { ...ada, settings: { host: 5 } }),
    );
    expect(error).toBeInstanceOf(DomainError);
    expect((error as Error).message).toContain('settings.host');
  });

  it.each([
    ['auth-invalid', 'invalid', 'grant.credentials_refused'],
    ['temporary', 'unavailable', 'grant.provider_unavailable'],
    ['rate-limited', 'unavailable', 'grant.provider_unavailable'],
    ['rejected', 'invalid', 'grant.provider_error'],
    ['unsupported', 'invalid', 'grant.provider_error'],
  ] as [ProviderErrorCode, string, string][])(
    "turns the provider's %s into %s",
    async (code, kind, betaType) => {
      const error = await refusal(
        check(async () => {
          throw new ProviderError(code, 'their words');
        }).verify('app', ada),
      );
      expect(error).toMatchObject({ kind, details: { betaType, serverError: 'their words' } });
    },
  );

  it.each([
    ['unsupported', 'invalid', 'settings.host: nobody there'],
    ['auth-invalid', 'invalid', 'settings.host: nobody there'],
    ['temporary', 'unavailable', 'settings.host: nobody there'],
  ] as [ProviderErrorCode, string, string][])(
    'names the setting that caused a %s error',
    async (code, kind, message) => {
      const words = new ProviderError(code, 'their own words');
      const failure = new ProviderError(code, 'nobody there', { setting: 'host', cause: words });
      const error = await refusal(check(() => Promise.reject(failure)).verify('app', ada));
      expect(error).toMatchObject({
        kind,
        message,
        details: { serverError: 'their own words', cause: failure },
      });
    },
  );

  it('merges a change into stored settings by name, or as the connector defines', () => {
    const connector = { name: 'imap' as const, settingsSchema: z.object({}), verify: accepts };
    const merged = (own: Partial<Connector>) =>
      new CredentialCheck(
        new ConnectorRegistry([{ ...connector, ...own }]),
        checks,
        passing,
        proofs,
      ).merged('imap', { a: 1, b: 1 }, { b: 2 });
    expect(merged({})).toEqual({ a: 1, b: 2 });
    expect(merged({ mergeSettings: (stored, change) => ({ stored, change }) })).toEqual({
      stored: { a: 1, b: 1 },
      change: { b: 2 },
    });
    const refuse = () => {
      throw new ProviderError('unsupported', 'is required', { setting: 'password' });
    };
    expect(() => merged({ mergeSettings: refuse })).toThrow('settings.password: is required');
  });

  it('rethrows an unexpected error of a connector unchanged', async () => {
    const bug = new TypeError('x is not a function');
    expect(
      await refusal(
        check(async () => {
          throw bug;
        }).verify('app', ada),
      ),
    ).toBe(bug);
  });

  it('refuses a provider without a connector', async () => {
    expect(
      await refusal(check(accepts).verify('app', { ...ada, provider: 'google' })),
    ).toMatchObject({
      code: 'provider.unsupported',
    });
  });
});
