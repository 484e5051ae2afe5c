import { Injectable } from '@nestjs/common';
import { EntityManager } from '@mikro-orm/postgresql';
import { Integration } from '../../integrations/integration.entity.ts';
import { OauthIntegrations } from '../../integrations/oauth-integrations.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type { SignInDescriptor } from '../../../providers/port/sign-in/sign-in-descriptor.ts';
import type { LoginFlow } from '../links/login-request-state.ts';

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
  /** How the provider appears on the pages. */
  signIn: SignInDescriptor;
}

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
   * integrations address requires one. For `oauth`: also providers that work without an
   * integration, such as IMAP.
   */
  async of(applicationId: string, flow: LoginFlow): Promise<Offer[]> {
    const integrations = await this.em.fork().find(Integration, { application: applicationId });
    const registered = new Map(
      integrations.map((integration) => [integration.provider, integration]),
    );
    const rules = registered.size === 0 ? ['always', 'if-there-is-none'] : ['always'];
    const offers = this.connectors
      .connectable()
      .flatMap(({ name, signIn }) => (signIn ? [{ provider: name, signIn }] : []))
      .filter(
        ({ provider, signIn }) =>
          registered.has(provider) ||
          (flow === 'oauth' && rules.includes(signIn.withoutIntegration)),
      )
      .toSorted((a, b) => a.signIn.order - b.signIn.order)
      .map(async ({ provider, signIn }): Promise<Offer[]> => {
        const name = registered.get(provider)?.name ?? null;
        const method = { provider, signIn, name };
        const atProvider = name !== null && (await this.oauth.client(applicationId, provider));
        return [
          ...(atProvider ? [{ ...method, id: `${provider}-oauth`, oauth: true }] : []),
          ...(signIn.password ? [{ ...method, id: provider, oauth: false }] : []),
        ];
      });
    return (await Promise.all(offers)).flat();
  }

  /**
   * The connector for a provider name of `GET /oauth/authorize`: the first that serves this name
   * and is offered. A name of a provider without passwords also stands for any mailbox by IMAP.
   * @param name `null` for any mailbox by IMAP
   * @returns `undefined` if the application offers none
   */
  providerNamed(name: string | null, offers: readonly Offer[]): string | undefined {
    const general = offers.filter(({ signIn }) => signIn.withoutIntegration === 'always');
    const wanted = [
      ...(name === null ? [] : this.connectors.named(name).map((connector) => connector.name)),
      ...(name === null || this.#mayBeGeneral(name) ? general.map(({ provider }) => provider) : []),
    ];
    return wanted.find((provider) => offers.some((offer) => offer.provider === provider));
  }

  #mayBeGeneral(name: string): boolean {
    const own = this.connectors.find(name);
    return own
      ? own.signIn?.password === null
      : this.connectors.integrationOf(name) !== undefined ||
          this.connectors.otherNames().includes(name);
  }
}
