import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { VIRTUAL_PROVIDER } from '../../providers/port/provider-name.ts';

/** Providers that clients know, but that are set up in another way (ADR 0067). */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  [
    VIRTUAL_PROVIDER,
    'virtual calendars (provider nylas) have no integration: connect them with POST /connect/authorize',
  ],
  [
    'zoom',
    'users do not connect Zoom accounts of their own: set Zoom up for the whole application with PUT /a/{client_id}/conferencing (kind zoom), then create events with conferencing.autocreate',
  ],
]);

/**
 * Checks that applications can have an integration for a provider.
 * @throws {InvalidInputError} naming the providers that can be registered
 */
export function assertRegistrable(
  connectors: Pick<ConnectorRegistry, 'registrable'>,
  provider: string,
): void {
  const names = connectors.registrable();
  if (names.includes(provider)) return;
  const elsewhere = ELSEWHERE.get(provider);
  const usual = `provider: must be one of ${names.join(', ')}`;
  throw new InvalidInputError(elsewhere === undefined ? usual : `${usual}; ${elsewhere}`);
}
