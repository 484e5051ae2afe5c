import { googleOauth } from '../google/google.oauth.ts';
import type { Connector } from './connector.ts';
import { ConnectorRegistry } from './connector-registry.ts';

const AUTH = 'https://www.googleapis.com/auth/';
const connector = {
  name: 'google',
  oauth: googleOauth('https://accounts.google.com'),
  mail: {},
  calendar: {},
  contacts: {},
} as unknown as Connector;
const registry = new ConnectorRegistry([connector, { name: 'announced', announced: true }]);

describe('ConnectorRegistry.readablePorts', () => {
  const ports = (providerScopes?: string[]) =>
    Object.keys(
      registry.readablePorts({
        provider: 'google',
        ...(providerScopes ? { providerScopes } : {}),
      }),
    );

  it('leaves out what the user has not allowed to read at the provider', () => {
    expect(ports([`${AUTH}gmail.modify`, `${AUTH}contacts`])).toEqual(['mail', 'contacts']);
    expect(ports([`${AUTH}calendar.readonly`])).toEqual(['calendar']);
    expect(ports([`${AUTH}gmail.send`, `${AUTH}calendar.freebusy`])).toEqual([]);
  });

  it('has every port if the scopes of the token are not known', () => {
    expect(ports()).toEqual(['mail', 'calendar', 'contacts']);
  });
});

describe('ConnectorRegistry', () => {
  it('has no connector for a provider that can only be registered', () => {
    expect(registry.has('announced')).toBe(false);
    expect(() => registry.require('announced')).toThrow('does not support connecting accounts');
  });
});
