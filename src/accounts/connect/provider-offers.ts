import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Integration } from '../integrations/integration.entity.ts';
import { OauthIntegrations } from '../integrations/oauth-integrations.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { LoginFlow } from './login-request-state.ts';

/** A way to sign in that an application offers. */
export interface Offer {
  /** Names it in addresses of pages. */
  id: string;
  /** Name of the connector. */
  provider: string;
  /** Whether one signs in at the provider, instead of with a password here. */
  oauth: boolean;
  /** What its integration is called; null: it has none. */
  name: string | null;
}

/** Names that `provider` of `GET /oauth/authorize` may have (api facts 3.1, 3.2), and what they are here. */
const FAMILIES: Readonly<Record<string, 'google' | 'microsoft' | 'imap'>> = {
  gmail: 'google',
  google: 'google',
  office365: 'microsoft',
  outlook: 'microsoft',
  hotmail: 'microsoft',
  exchange: 'microsoft',
  eas: 'microsoft',
  graph: 'microsoft',
  microsoft: 'microsoft',
  icloud: 'imap',
  yahoo: 'imap',
  aol: 'imap',
  imap: 'imap',
};

/** Most people are with the big ones; the sandbox is for developers. */
const ORDER: readonly string[] = ['google', 'microsoft', 'imap', 'sandbox'];

/** Which ways to sign in an application offers. */
@Injectable()
export class ProviderOffers {
  constructor(
    private readonly em: EntityManager,
    private readonly connectors: ConnectorRegistry,
    private readonly oauth: OauthIntegrations,
  ) {}

  /**
   * In the order they are shown. `connect`: those the application has integrations for, as the integrations address asks for.
   * `oauth`: besides, any mail account; the sandbox only where it is registered, or nothing is.
   */
  async of(applicationId: string, flow: LoginFlow): Promise<Offer[]> {
    const integrations = await this.em.fork().find(Integration, { application: applicationId });
    const registered = new Map(
      integrations.map((integration) => [integration.provider, integration]),
    );
    const known = this.connectors.connectable().map(({ name }) => name as string);
    const unregistered =
      flow === 'connect' ? [] : registered.size === 0 ? ['imap', 'sandbox'] : ['imap'];
    const ways = ORDER.filter(
      (provider) =>
        known.includes(provider) && (registered.has(provider) || unregistered.includes(provider)),
    ).map(async (provider): Promise<Offer[]> => {
      const name = registered.get(provider)?.name ?? null;
      const password = { id: provider, provider, oauth: false, name };
      const oauth =
        registered.has(provider) && (await this.oauth.find(applicationId, provider)) !== null;
      return oauth ? [{ id: `${provider}-oauth`, provider, oauth, name }, password] : [password];
    });
    return (await Promise.all(ways)).flat();
  }
}

/**
 * Name of the connector that a provider name of `GET /oauth/authorize` stands for: the provider's own where the application
 * offers it, else any mailbox by password.
 * @returns undefined when the application offers neither
 */
export function providerNamed(name: string, offers: readonly Offer[]): string | undefined {
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  const wanted = [name, ...(family ? [family, 'imap'] : [])];
  return wanted.find((provider) => offers.some((offer) => offer.provider === provider));
}
