import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Integration } from '../integrations/integration.entity.ts';
import { OauthIntegrations } from '../integrations/oauth-integrations.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { LoginFlow } from './login-request-state.ts';

/** A sign-in method that an application offers. */
export interface Offer {
  /** Identifies the offer in URLs of pages. */
  id: string;
  /** Name of the connector. */
  provider: string;
  /** Whether the user signs in at the provider instead of with a password on our page. */
  oauth: boolean;
  /** Name of the provider's integration; `null` if there is none. */
  name: string | null;
}

/** Names that `provider` of `GET /oauth/authorize` may have, and the connectors they stand for. */
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

/** Display order: the providers with the most users first. The sandbox is for developers. */
const ORDER: readonly string[] = ['google', 'microsoft', 'imap', 'sandbox'];

/** The sign-in methods that an application offers. */
@Injectable()
export class ProviderOffers {
  constructor(
    private readonly em: EntityManager,
    private readonly connectors: ConnectorRegistry,
    private readonly oauth: OauthIntegrations,
  ) {}

  /**
   * The offers in display order. For `connect`: providers with an integration, because the
   * integrations address requires one. For `oauth`: also any mail account by IMAP. The sandbox is
   * offered only if it has an integration, or if the application has no integration at all.
   */
  async of(applicationId: string, flow: LoginFlow): Promise<Offer[]> {
    const integrations = await this.em.fork().find(Integration, { application: applicationId });
    const registered = new Map(
      integrations.map((integration) => [integration.provider, integration]),
    );
    const known = this.connectors.connectable().map(({ name }) => name as string);
    const unregistered =
      flow === 'connect' ? [] : registered.size === 0 ? ['imap', 'sandbox'] : ['imap'];
    const methods = ORDER.filter(
      (provider) =>
        known.includes(provider) && (registered.has(provider) || unregistered.includes(provider)),
    ).map(async (provider): Promise<Offer[]> => {
      const name = registered.get(provider)?.name ?? null;
      const password = { id: provider, provider, oauth: false, name };
      const oauth =
        registered.has(provider) && (await this.oauth.find(applicationId, provider)) !== null;
      return oauth ? [{ id: `${provider}-oauth`, provider, oauth, name }, password] : [password];
    });
    return (await Promise.all(methods)).flat();
  }
}

/**
 * The connector for a provider name of `GET /oauth/authorize`: the provider's own if the
 * application offers it, else any mailbox by IMAP.
 * @returns `undefined` if the application offers neither
 */
export function providerNamed(name: string, offers: readonly Offer[]): string | undefined {
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  const wanted = [name, ...(family ? [family, 'imap'] : [])];
  return wanted.find((provider) => offers.some((offer) => offer.provider === provider));
}
