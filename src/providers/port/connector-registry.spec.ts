import { SCOPES } from '../../platform/auth/scopes.ts';
import type { Connector } from './connector.ts';
import { ConnectorRegistry } from './connector-registry.ts';

const connector = {
  name: 'acme',
  // The provider's scopes have the names of ours, with a prefix.
  oauth: {
    covered: (granted: readonly string[]) =>
      SCOPES.filter((scope) => granted.includes(`acme:${scope}`)),
  },
  mail: {},
  calendar: {},
  contacts: {},
} as unknown as Connector;
const registry = new ConnectorRegistry([connector, { name: 'announced', announced: true }]);

describe('ConnectorRegistry.readablePorts', () => {
  const ports = (providerScopes?: string[]) =>
    Object.keys(
      registry.readablePorts({
        provider: 'acme',
        ...(providerScopes ? { providerScopes } : {}),
      }),
    );

  it('leaves out what the user has not allowed to read at the provider', () => {
    expect(ports(['acme:email.modify', 'acme:contacts'])).toEqual(['mail', 'contacts']);
    expect(ports(['acme:calendar.read_only'])).toEqual(['calendar']);
    expect(ports(['acme:email.send', 'acme:calendar.free_busy'])).toEqual([]);
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
